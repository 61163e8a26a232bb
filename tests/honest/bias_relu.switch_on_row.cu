// launch: bias_relu grid=(ceil_div(rows * cols, 256)) block=(256)
extern "C" __global__ void bias_relu(const float* x, const float* bias, float* y, int rows, int cols) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * cols) return;
    float value = x[at] + bias[at - at / cols * cols];
    switch (value > 0.0f) {
        case true:
            y[at] = value;
            break;
        default:
            y[at] = 0.0f;
    }
}
