// Blocks sum 4,096 columns of one row each through shared memory; a second kernel adds the partial
// sums of a row.
// scratch: partial int32[rows * ceil_div(cols, 4096)]
// launch: chunk_sum grid=(ceil_div(cols, 4096), rows) block=(256) args=(x, partial, cols)
// launch: combine grid=(rows) block=(32) args=(partial, y, ceil_div(cols, 4096))
extern "C" __global__ void chunk_sum(const int* __restrict__ x, int* __restrict__ partial, int cols) {
    __shared__ int sums[256];
    const int* row = x + blockIdx.y * cols;
    int end = min(static_cast<int>(blockIdx.x + 1) * 4096, cols);
    int total = 0;
    for (int c = blockIdx.x * 4096 + threadIdx.x; c < end; c += 256) {
        total += row[c];
    }
    sums[threadIdx.x] = total;
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

extern "C" __global__ void combine(const int* __restrict__ partial, int* __restrict__ y, int chunks) {
    int total = 0;
    for (int chunk = threadIdx.x; chunk < chunks; chunk += 32) {
        total += partial[blockIdx.x * chunks + chunk];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, offset);
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = total;
    }
}
