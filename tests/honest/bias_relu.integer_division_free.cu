// launch: bias_relu grid=(ceil_div(cols, 128), rows) block=(128)
extern "C" __global__ void bias_relu(const float* x, const float* bias, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        int at = blockIdx.y * cols + c;
        float value = x[at] + bias[c];
        y[at] = value > 0.f ? value : 0.f;
    }
}
