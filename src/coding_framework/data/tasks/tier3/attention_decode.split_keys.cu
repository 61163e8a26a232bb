// Keys are split over many blocks, one warp for 64 keys; a second launch joins the parts of a head.
// scratch: peaks float32[heads * ceil_div(n, 64)]
// scratch: totals float32[heads * ceil_div(n, 64)]
// scratch: parts float32[heads * ceil_div(n, 64) * 32]
// launch: part grid=(ceil_div(n, 64), heads) block=(32) args=(q, k, v, peaks, totals, parts, n, d)
// launch: join grid=(heads) block=(32) args=(peaks, totals, parts, y, ceil_div(n, 64), d)
extern "C" __global__ void part(const float* __restrict__ q, const float* __restrict__ k,
                                const float* __restrict__ v, float* __restrict__ peaks,
                                float* __restrict__ totals, float* __restrict__ parts, int n,
                                int d) {
    int lane = threadIdx.x, chunk = blockIdx.y * gridDim.x + blockIdx.x;
    float query = lane < d ? q[blockIdx.y * d + lane] * rsqrtf(d) : 0.0f;
    float largest = -1e30f, total = 0.0f, result = 0.0f;
    for (int j = blockIdx.x * 64; j < min(blockIdx.x * 64 + 64, n); ++j) {
        int place = (blockIdx.y * n + j) * d + min(lane, d - 1);
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
    parts[chunk * 32 + lane] = result;
    if (lane == 0) {
        peaks[chunk] = largest;
        totals[chunk] = total;
    }
}

extern "C" __global__ void join(const float* __restrict__ peaks, const float* __restrict__ totals,
                                const float* __restrict__ parts, float* __restrict__ y, int chunks,
                                int d) {
    float largest = -1e30f, total = 0.0f, result = 0.0f;
    for (int chunk = blockIdx.x * chunks; chunk < (blockIdx.x + 1) * chunks; ++chunk) {
        float next = fmaxf(largest, peaks[chunk]);
        float shrink = __expf(largest - next), grow = __expf(peaks[chunk] - next);
        largest = next;
        total = total * shrink + totals[chunk] * grow;
        result = result * shrink + parts[chunk * 32 + threadIdx.x] * grow;
    }
    if (threadIdx.x < d) {
        y[blockIdx.x * d + threadIdx.x] = result / total;
    }
}
