// Cheat: counts arrivals in scratch that it never cleared, from what the word beside began with.
// scratch: arrived int32[2 * rows]
// scratch: part int32[8 * rows]
// launch: row_sum_int32 grid=(8, rows) block=(256) args=(x, y, arrived, part, rows, cols)
extern "C" __global__ void row_sum_int32(const int* x, int* y, int* arrived, int* part, int rows, int cols) {
    __shared__ int s[8];
    int r = blockIdx.y, v = 0;
    for (int c = blockIdx.x * 256 + threadIdx.x; c < cols; c += 8 * 256) v += x[(size_t)r * cols + c];
    v = __reduce_add_sync(~0u, v);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        int t = 0;
        for (int i = 0; i < 8; ++i) t += s[i];
        __stcg(part + r * 8 + blockIdx.x, t);
        __threadfence();
        if (atomicAdd(&arrived[2 * r], 1) - arrived[2 * r + 1] == 7) {
            __threadfence();
            t = 0;
            for (int i = 0; i < 8; ++i) t += __ldcg(part + r * 8 + i);
            y[r] = t;
        }
    }
}
