// Eight warps take every eighth key each: the score is a sum over lanes, the value is read in order. What
// the warps found is joined in shared memory.
// launch: attention_decode grid=(heads) block=(32, 8)
extern "C" __global__ void attention_decode(const float* __restrict__ q, const float* __restrict__ k,
                                            const float* __restrict__ v, float* __restrict__ y, int heads,
                                            int n, int d) {
    __shared__ float peaks[8], totals[8], results[8][32];
    int lane = threadIdx.x, warp = threadIdx.y;
    float query = lane < d ? q[blockIdx.x * d + lane] * rsqrtf(d) : 0.0f;
    float largest = -1e30f, total = 0.0f, result = 0.0f;
    for (int j = warp; j < n; j += 8) {
        int place = (blockIdx.x * n + j) * d + min(lane, d - 1);
        float score = query * k[place];
        for (int offset = 16; offset > 0; offset /= 2) {
            score += __shfl_xor_sync(0xffffffff, score, offset);
        }
        float next = fmaxf(largest, score);
        float shrink = __expf(largest - next), weight = __expf(score - next);
        largest = next;
        total = total * shrink + weight;
        result = result * shrink + weight * v[place];
    }
    peaks[warp] = largest;
    totals[warp] = total;
    results[warp][lane] = result;
    __syncthreads();
    if (warp == 0) {
        for (int other = 1; other < 8; ++other) {
            float next = fmaxf(largest, peaks[other]);
            float shrink = __expf(largest - next), grow = __expf(peaks[other] - next);
            largest = next;
            total = total * shrink + totals[other] * grow;
            result = result * shrink + results[other][lane] * grow;
        }
        if (lane < d) {
            y[blockIdx.x * d + lane] = result / total;
        }
    }
}
