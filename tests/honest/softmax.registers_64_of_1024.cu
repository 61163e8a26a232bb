// A row in registers of a warp, in blocks of 1,024 threads: 64 registers each are all that an SM has.
// launch: softmax grid=(ceil_div(rows, 32)) block=(32, 32)
extern "C" __global__ void __launch_bounds__(1024) softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    constexpr int KEPT = 56;
    int r = blockIdx.x * 32 + threadIdx.y, lane = threadIdx.x;
    if (r >= rows) return;
    const float* row = x + (size_t)r * cols;
    float* out = y + (size_t)r * cols;
    float v[KEPT], most = -INFINITY, sum = 0.f;
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        v[i] = i * 32 + lane < cols ? row[i * 32 + lane] : -INFINITY;
        most = fmaxf(most, v[i]);
    }
    for (int c = KEPT * 32 + lane; c < cols; c += 32) most = fmaxf(most, row[c]);
    for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        v[i] = expf(v[i] - most);
        sum += v[i];
    }
    for (int c = KEPT * 32 + lane; c < cols; c += 32) sum += expf(row[c] - most);
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
#pragma unroll
    for (int i = 0; i < KEPT; ++i)
        if (i * 32 + lane < cols) out[i * 32 + lane] = v[i] / sum;
    for (int c = KEPT * 32 + lane; c < cols; c += 32) out[c] = expf(row[c] - most) / sum;
}
