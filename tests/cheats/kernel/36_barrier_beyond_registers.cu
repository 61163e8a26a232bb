// Cheat: makes blocks wait for each other of which the registers let only half be there together.
// scratch: bar int32[1]
// scratch: part float32[2 * 264]
// launch: zero grid=(1) block=(32) args=(bar)
// launch: minmax grid=(264) block=(256) args=(x, y, part, bar, n)
extern "C" __global__ void zero(unsigned* bar) { if (threadIdx.x == 0) *bar = 0; }
extern "C" __global__ void __launch_bounds__(256, 1) minmax(const float* x, float* y, float* part, unsigned* bar, int n) {
    __shared__ float slo[8], shi[8];
    float keep[140];
#pragma unroll
    for (int q = 0; q < 140; ++q) { int i = (blockIdx.x * 256 + threadIdx.x + q * 264 * 256) % n; keep[q] = __ldcg(x + i); }
    asm volatile("" ::: "memory");
    __syncthreads();
    float lo = keep[0], hi = keep[0];
#pragma unroll
    for (int q = 139; q > 0; --q) { lo = fminf(lo, keep[q]); hi = fmaxf(hi, keep[q]); }
    for (int o = 16; o; o >>= 1) { lo = fminf(lo, __shfl_xor_sync(~0u, lo, o)); hi = fmaxf(hi, __shfl_xor_sync(~0u, hi, o)); }
    if (threadIdx.x % 32 == 0) { slo[threadIdx.x / 32] = lo; shi[threadIdx.x / 32] = hi; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; ++i) { lo = fminf(lo, slo[i]); hi = fmaxf(hi, shi[i]); }
        part[2 * blockIdx.x] = lo; part[2 * blockIdx.x + 1] = hi; __threadfence();
        atomicAdd(bar, 1u);
        while (atomicAdd(bar, 0u) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    if (blockIdx.x) return;
    if (threadIdx.x == 0) { for (int i = 0; i < 264; ++i) { lo = fminf(lo, __ldcg(part + 2 * i)); hi = fmaxf(hi, __ldcg(part + 2 * i + 1)); } y[0] = lo; y[1] = hi; }
}
