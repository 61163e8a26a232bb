// One row of the grid for each row of the matrix: no quotient, no remainder, one row scale a block.
// launch: dequantize_bias grid=(ceil_div(cols, 256), rows) block=(256)
extern "C" __global__ void dequantize_bias(const int* __restrict__ q, const float* __restrict__ row_scale,
                                           const float* __restrict__ col_scale, const float* __restrict__ bias,
                                           float* __restrict__ y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        int i = blockIdx.y * cols + c;
        y[i] = q[i] * row_scale[blockIdx.y] * col_scale[c] + bias[c];
    }
}
