// Blocks sum 256 columns of one row each, a second kernel adds the partial sums of a row.
// scratch: partial float32[rows * ceil_div(cols, 256)]
// launch: chunk_sum grid=(ceil_div(cols, 256), rows) block=(256) args=(x, partial, cols)
// launch: combine grid=(ceil_div(rows, 128)) block=(128) args=(partial, y, rows, ceil_div(cols, 256))
extern "C" __global__ void chunk_sum(const float* x, float* partial, int cols) {
    __shared__ float sums[256];
    int c = blockIdx.x * 256 + threadIdx.x;
    sums[threadIdx.x] = c < cols ? x[blockIdx.y * cols + c] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.y * gridDim.x + blockIdx.x] = sums[0];
    }
}

extern "C" __global__ void combine(const float* partial, float* y, int rows, int chunks) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float total = 0.0f;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            total += partial[r * chunks + chunk];
        }
        y[r] = total;
    }
}
