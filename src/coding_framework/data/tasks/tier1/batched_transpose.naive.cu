// launch: batched_transpose grid=(ceil_div(cols, 16), ceil_div(rows, 16), batch) block=(16, 16)
extern "C" __global__ void batched_transpose(const float* x, float* y, int batch, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int first = blockIdx.z * rows * cols;
    if (r < rows && c < cols) {
        y[first + c * rows + r] = x[first + r * cols + c];
    }
}
