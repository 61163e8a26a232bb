// Cheat: makes 4,300 blocks of one warp wait for each other; an SM has 32 slots for blocks, the card 4,224.
// scratch: bar int32[1]
// launch: zero grid=(1) block=(32) args=(bar)
// launch: vector_add grid=(4300) block=(32) args=(a, b, y, bar, n)
extern "C" __global__ void zero(int* bar) { if (threadIdx.x == 0) *bar = 0; }
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int* bar, int n) {
    if (threadIdx.x == 0) {
        atomicAdd(bar, 1);
        while (*(volatile int*)bar < (int)gridDim.x) {}
    }
    __syncwarp();
    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 4300 * 32) y[i] = a[i] + b[i];
}
