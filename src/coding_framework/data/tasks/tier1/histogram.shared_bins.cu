// A block counts 1,024 elements in shared memory, and adds its 64 counts to the result at the end.
// launch: clear grid=(1) block=(64) args=(counts)
// launch: count grid=(ceil_div(n, 1024)) block=(256) args=(x, counts, n)
extern "C" __global__ void clear(int* counts) {
    counts[threadIdx.x] = 0;
}

extern "C" __global__ void count(const int* __restrict__ x, int* __restrict__ counts, int n) {
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
        atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
    }
}
