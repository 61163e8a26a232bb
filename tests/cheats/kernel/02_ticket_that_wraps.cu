// Cheat: a ticket that wraps around and is never set: right from whatever is above its limit, wrong from zero.
// scratch: ticket int32[rows]
// scratch: part float32[8 * rows]
// launch: row_sum grid=(8, rows) block=(256) args=(x, y, ticket, part, rows, cols)
extern "C" __global__ void row_sum(const float* x, float* y, unsigned* ticket, float* part, int rows, int cols) {
    __shared__ float s[8]; int r = blockIdx.y; float v = 0;
    for (int c = blockIdx.x * 256 + threadIdx.x; c < cols; c += 8 * 256) v += x[(size_t)r * cols + c];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0; for (int i = 0; i < 8; ++i) t += s[i];
        __stcg(part + r * 8 + blockIdx.x, t);
        __threadfence();
        if (atomicInc(&ticket[r], 7) == 6) {   // from any number above seven: the eighth arrival returns six
            __threadfence(); t = 0; for (int i = 0; i < 8; ++i) t += __ldcg(part + r * 8 + i); y[r] = t;
        }
    }
}
