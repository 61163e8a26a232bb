// launch: global_average_pool grid=(ceil_div(planes, 128)) block=(128)
extern "C" __global__ void global_average_pool(const float* x, float* y, int planes, int height, int width) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < planes) {
        float total = 0.0f;
        for (int i = 0; i < height * width; ++i) {
            total += x[p * height * width + i];
        }
        y[p] = total / (height * width);
    }
}
