// Counts of each block in scratch, which the block clears itself; an older call's may lie there.
// scratch: part int32[64 * 64]
// launch: count grid=(64) block=(256) args=(x, part, n)
// launch: merge grid=(1) block=(64) args=(part, counts)
extern "C" __global__ void count(const int* x, int* part, int n) {
    int* mine = part + 64 * blockIdx.x;
    if (threadIdx.x < 64) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 64 * 256) atomicAdd(&mine[x[i] & 63], 1);
}
extern "C" __global__ void merge(const int* part, int* counts) {
    int sum = 0;
    for (int b = 0; b < 64; ++b) sum += part[64 * b + threadIdx.x];
    counts[threadIdx.x] = sum;
}
