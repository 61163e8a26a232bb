// launch: attention grid=(ceil_div(heads * n * d, 256)) block=(256)
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y, int heads,
                                     int n, int d) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < heads * n * d) {
        int e = index % d;
        int i = index / d % n;
        int head = index / d / n * n * d;
        float scale = 1.0f / sqrtf(d);
        float largest = -1e30f;
        for (int j = 0; j < n; ++j) {
            float score = 0.0f;
            for (int p = 0; p < d; ++p) {
                score += q[head + i * d + p] * k[head + j * d + p];
            }
            largest = fmaxf(largest, scale * score);
        }
        float total = 0.0f;
        float result = 0.0f;
        for (int j = 0; j < n; ++j) {
            float score = 0.0f;
            for (int p = 0; p < d; ++p) {
                score += q[head + i * d + p] * k[head + j * d + p];
            }
            float weight = expf(scale * score - largest);
            total += weight;
            result += weight * v[head + j * d + e];
        }
        y[index] = result / total;
    }
}
