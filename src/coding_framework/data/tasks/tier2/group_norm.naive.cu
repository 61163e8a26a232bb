// launch: group_norm grid=(ceil_div(batch * groups, 128)) block=(128)
extern "C" __global__ void group_norm(const float* x, const float* weight, const float* bias, float* y,
                                      int batch, int groups, int channels, int length) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (group < batch * groups) {
        int count = channels * length;
        float mean = 0.0f;
        for (int e = 0; e < count; ++e) {
            mean += x[group * count + e];
        }
        mean /= count;
        float variance = 0.0f;
        for (int e = 0; e < count; ++e) {
            float d = x[group * count + e] - mean;
            variance += d * d;
        }
        float inverse = rsqrtf(variance / count + 1e-5f);
        for (int e = 0; e < count; ++e) {
            int channel = group % groups * channels + e / length;
            y[group * count + e] = (x[group * count + e] - mean) * inverse * weight[channel] + bias[channel];
        }
    }
}
