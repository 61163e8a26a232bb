// Blocks leave their counts in scratch memory, bin beside bin; a second kernel adds up one bin a block.
// scratch: partial int32[64 * ceil_div(n, 1024)]
// launch: count grid=(ceil_div(n, 1024)) block=(256) args=(x, partial, n)
// launch: combine grid=(64) block=(64) args=(partial, counts, ceil_div(n, 1024))
extern "C" __global__ void count(const int* __restrict__ x, int* __restrict__ partial, int n) {
    __shared__ int bins[64];
    if (threadIdx.x < 64) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads();
    int end = min(static_cast<int>(blockIdx.x + 1) * 1024, n);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 256) {
        atomicAdd(&bins[x[i] & 63], 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        partial[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
    }
}

extern "C" __global__ void combine(const int* __restrict__ partial, int* __restrict__ counts, int blocks) {
    __shared__ int sums[2];
    int total = 0;
    for (int block = threadIdx.x; block < blocks; block += 64) {
        total += partial[block * 64 + blockIdx.x];
    }
    total = __reduce_add_sync(0xffffffff, total);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = total;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = sums[0] + sums[1];
    }
}
