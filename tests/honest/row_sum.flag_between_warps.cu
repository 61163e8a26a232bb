// Warps hand their sum on to the next by a flag in shared memory, and wait with growing pauses.
// launch: row_sum grid=(rows) block=(128)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float total;
    __shared__ int turn;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) turn = 0, total = 0.f;
    __syncthreads();
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += x[(size_t)blockIdx.x * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (lane == 0) {
        unsigned pause = 8, looks = 0;
        while (*(volatile int*)&turn != warp) {
            __nanosleep(pause);
            pause = pause < 256 ? 2 * pause : pause;
            if (++looks == 0x7fffffff) __trap();
        }
        __threadfence_block();
        total += sum;
        __threadfence_block();
        *(volatile int*)&turn = warp + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
