// launch: batch_norm grid=(ceil_div(channels, 128)) block=(128)
extern "C" __global__ void batch_norm(const float* x, const float* weight, const float* bias, float* y,
                                      int batch, int channels, int length) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < channels) {
        float mean = 0.0f;
        for (int s = 0; s < batch; ++s) {
            for (int t = 0; t < length; ++t) {
                mean += x[(s * channels + c) * length + t];
            }
        }
        mean /= batch * length;
        float variance = 0.0f;
        for (int s = 0; s < batch; ++s) {
            for (int t = 0; t < length; ++t) {
                float d = x[(s * channels + c) * length + t] - mean;
                variance += d * d;
            }
        }
        float inverse = rsqrtf(variance / (batch * length) + 1e-5f);
        for (int s = 0; s < batch; ++s) {
            for (int t = 0; t < length; ++t) {
                int i = (s * channels + c) * length + t;
                y[i] = (x[i] - mean) * inverse * weight[c] + bias[c];
            }
        }
    }
}
