// launch: dequantize_bias grid=(ceil_div(rows * cols, 256)) block=(256)
extern "C" __global__ void dequantize_bias(const int* q, const float* row_scale, const float* col_scale,
                                           const float* bias, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        y[i] = q[i] * row_scale[i / cols] * col_scale[i % cols] + bias[i % cols];
    }
}
