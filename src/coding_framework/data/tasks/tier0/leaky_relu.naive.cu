// launch: leaky_relu grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void leaky_relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] > 0.0f ? x[i] : 0.1f * x[i];
    }
}
