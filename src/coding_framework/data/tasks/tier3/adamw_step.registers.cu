// Every array is touched once: the new moments stay in registers, and the pointers promise not to overlap.
// launch: adamw_step grid=(min(ceil_div(n, 256), 1056)) block=(256)
extern "C" __global__ void adamw_step(const float* __restrict__ w, const float* __restrict__ gradient,
                                      const float* __restrict__ mean, const float* __restrict__ root,
                                      float* __restrict__ w_out, float* __restrict__ mean_out,
                                      float* __restrict__ root_out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float g = gradient[i], r = root[i], weight = w[i];
        float m = 0.9f * mean[i] + 0.1f * g;
        r = __fsqrt_rn(0.999f * r * r + 0.001f * g * g);
        mean_out[i] = m;
        root_out[i] = r;
        w_out[i] = weight - 0.01f * (__fdividef(m, r + 1e-3f) + 0.1f * weight);
    }
}
