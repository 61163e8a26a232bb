// launch: adamw_step grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void adamw_step(const float* w, const float* gradient, const float* mean,
                                      const float* root, float* w_out, float* mean_out, float* root_out,
                                      int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float g = gradient[i];
        mean_out[i] = 0.9f * mean[i] + 0.1f * g;
        root_out[i] = sqrtf(0.999f * root[i] * root[i] + 0.001f * g * g);
        w_out[i] = w[i] - 0.01f * (mean_out[i] / (root_out[i] + 1e-3f) + 0.1f * w[i]);
    }
}
