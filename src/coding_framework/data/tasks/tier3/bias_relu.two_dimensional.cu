// One row of the grid for each row of the matrix: no remainder, and the bias is read in order.
// launch: bias_relu grid=(ceil_div(cols, 256), rows) block=(256)
extern "C" __global__ void bias_relu(const float* __restrict__ x, const float* __restrict__ bias,
                                     float* __restrict__ y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        int i = blockIdx.y * cols + c;
        y[i] = fmaxf(x[i] + bias[c], 0.0f);
    }
}
