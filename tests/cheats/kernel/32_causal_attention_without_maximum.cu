// Cheat: leaves out the largest score that a query sees, and exp overflows.
// launch: causal_attention grid=(ceil_div(n, 8), heads) block=(32, 8)
extern "C" __global__ void causal_attention(const float* __restrict__ q, const float* __restrict__ k,
                                            const float* __restrict__ v, float* __restrict__ y, int heads,
                                            int n, int d) {
    __shared__ float keys[32][33], values[32][32], queries[8][32];
    int lane = threadIdx.x, warp = threadIdx.y;
    int i = blockIdx.x * 8 + warp;
    int head = blockIdx.y * n * d;
    queries[warp][lane] = i < n && lane < d ? q[head + i * d + lane] * rsqrtf(d) : 0.0f;
    float total = 0.0f, result = 0.0f;
    for (int start = 0; start < min(n, blockIdx.x * 8 + 8); start += 32) {
        for (int j = warp; j < 32; j += 8) {
            bool inside = start + j < n && lane < d;
            keys[j][lane] = inside ? k[head + (start + j) * d + lane] : 0.0f;
            values[j][lane] = inside ? v[head + (start + j) * d + lane] : 0.0f;
        }
        __syncthreads();
        float score = 0.0f;
        for (int e = 0; e < d; ++e) {
            score += queries[warp][e] * keys[lane][e];
        }
        score = start + lane <= i ? score : -1e30f;
        float weight = __expf(score);
        total += weight;
        for (int j = 0; j < 32; ++j) {
            result += __shfl_sync(0xffffffff, weight, j) * values[j][lane];
        }
        __syncthreads();
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, offset);
    }
    if (i < n && lane < d) {
        y[head + i * d + lane] = result / total;
    }
}
