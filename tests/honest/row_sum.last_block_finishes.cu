// Chunks of a row in blocks of their own; an integer counter, cleared first, tells the last one.
// scratch: arrived int32[rows]
// scratch: partial float32[rows * ceil_div(cols, 256)]
// launch: clear grid=(ceil_div(rows, 256)) block=(256) args=(arrived, rows)
// launch: row_sum grid=(ceil_div(cols, 256), rows) block=(256) args=(x, y, partial, arrived, cols)
extern "C" __global__ void clear(int* arrived, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        arrived[r] = 0;
    }
}

extern "C" __global__ void row_sum(const float* x, float* y, float* partial, int* arrived, int cols) {
    __shared__ float sums[256];
    __shared__ bool is_last;
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
        __threadfence();
        is_last = atomicAdd(&arrived[blockIdx.y], 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        __threadfence();
        volatile float* chunk_sums = partial + blockIdx.y * gridDim.x;
        float total = 0.0f;
        for (int chunk = 0; chunk < gridDim.x; ++chunk) {
            total += chunk_sums[chunk];
        }
        y[blockIdx.y] = total;
    }
}
