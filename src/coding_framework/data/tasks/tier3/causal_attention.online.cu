// One pass over tiles of 16 keys, up to the block's last query only; query and result stay in registers,
// padded to 32, and the result is scaled down when one of the next four scores is larger.
// launch: causal_attention grid=(ceil_div(n, 64), heads) block=(64)
extern "C" __global__ void causal_attention(const float* __restrict__ q, const float* __restrict__ k,
                                            const float* __restrict__ v, float* __restrict__ y, int heads,
                                            int n, int d) {
    __shared__ float4 keys[16][8], values[16][8];
    int i = blockIdx.x * 64 + threadIdx.x;
    int head = blockIdx.y * n * d;
    float query[32], result[32] = {};
    #pragma unroll
    for (int e = 0; e < 32; ++e) {
        query[e] = i < n && e < d ? q[head + i * d + e] * rsqrtf(d) : 0.0f;
    }
    float largest = -1e30f, total = 0.0f;
    for (int start = 0; start < min(n, blockIdx.x * 64 + 64); start += 16) {
        int e = threadIdx.x % 32;
        for (int j = threadIdx.x / 32; j < 16; j += 2) {
            bool inside = start + j < n && e < d;
            reinterpret_cast<float*>(keys[j])[e] = inside ? k[head + (start + j) * d + e] : 0.0f;
            reinterpret_cast<float*>(values[j])[e] = inside ? v[head + (start + j) * d + e] : 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < 16 && start + j < n; j += 4) {
            float score[4] = {}, next = largest;
            #pragma unroll
            for (int s = 0; s < 4; ++s) {
                #pragma unroll
                for (int e = 0; e < 8; ++e) {
                    float4 key = keys[j + s][e];
                    score[s] += query[4 * e] * key.x + query[4 * e + 1] * key.y;
                    score[s] += query[4 * e + 2] * key.z + query[4 * e + 3] * key.w;
                }
                score[s] = start + j + s <= i ? score[s] : -1e30f;
                next = fmaxf(next, score[s]);
            }
            float shrink = __expf(largest - next);
            largest = next;
            total *= shrink;
            #pragma unroll
            for (int e = 0; e < 32; ++e) {
                result[e] *= shrink;
            }
            #pragma unroll
            for (int s = 0; s < 4; ++s) {
                float weight = __expf(score[s] - next);
                total += weight;
                #pragma unroll
                for (int e = 0; e < 8; ++e) {
                    float4 value = values[j + s][e];
                    result[4 * e] += weight * value.x;
                    result[4 * e + 1] += weight * value.y;
                    result[4 * e + 2] += weight * value.z;
                    result[4 * e + 3] += weight * value.w;
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int e = 0; e < 32; ++e) {
        if (i < n && e < d) {
            y[head + i * d + e] = result[e] / total;
        }
    }
}
