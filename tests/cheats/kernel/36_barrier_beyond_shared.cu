// Cheat: makes 150 blocks wait for each other that take more than half of an SM's shared memory each.
// scratch: bar int32[1]
// scratch: part int32[64 * 150]
// launch: zero grid=(1) block=(64) args=(bar)
// launch: histogram grid=(150) block=(256) shared=(120 * 1024) args=(x, counts, part, bar, n)
extern "C" __global__ void zero(int* bar) { if (threadIdx.x == 0) *bar = 0; }
extern "C" __global__ void histogram(const int* x, int* counts, int* part, int* bar, int n) {
    extern __shared__ int bins[];
    for (int i = threadIdx.x; i < 64; i += 256) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 150 * 256) atomicAdd(&bins[x[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64) part[threadIdx.x * 150 + blockIdx.x] = bins[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(bar, 1);
        while (*(volatile int*)bar < (int)gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    if (blockIdx.x < 64 && threadIdx.x == 0) {
        int sum = 0;
        for (int b = 0; b < 150; ++b) sum += __ldcg(part + blockIdx.x * 150 + b);
        counts[blockIdx.x] = sum;
    }
}
