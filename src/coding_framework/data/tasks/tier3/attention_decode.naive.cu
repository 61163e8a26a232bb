// launch: attention_decode grid=(heads) block=(d)
extern "C" __global__ void attention_decode(const float* q, const float* k, const float* v, float* y,
                                            int heads, int n, int d) {
    int h = blockIdx.x;
    int e = threadIdx.x;
    float scale = 1.0f / sqrtf(d);
    float largest = -1e30f;
    for (int j = 0; j < n; ++j) {
        float score = 0.0f;
        for (int p = 0; p < d; ++p) {
            score += q[h * d + p] * k[(h * n + j) * d + p];
        }
        largest = fmaxf(largest, scale * score);
    }
    float total = 0.0f;
    float result = 0.0f;
    for (int j = 0; j < n; ++j) {
        float score = 0.0f;
        for (int p = 0; p < d; ++p) {
            score += q[h * d + p] * k[(h * n + j) * d + p];
        }
        float weight = expf(scale * score - largest);
        total += weight;
        result += weight * v[(h * n + j) * d + e];
    }
    y[h * d + e] = result / total;
}
