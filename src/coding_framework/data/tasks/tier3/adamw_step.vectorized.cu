// Four elements a thread: seven 16-byte accesses instead of 28 small ones.
// launch: adamw_step grid=(ceil_div(n, 512)) block=(128)
__device__ __forceinline__ void step(float& w, float g, float& m, float& r) {
    m = 0.9f * m + 0.1f * g;
    r = sqrtf(0.999f * r * r + 0.001f * g * g);
    w -= 0.01f * (__fdividef(m, r + 1e-3f) + 0.1f * w);
}

extern "C" __global__ void adamw_step(const float* __restrict__ w, const float* __restrict__ gradient,
                                      const float* __restrict__ mean, const float* __restrict__ root,
                                      float* __restrict__ w_out, float* __restrict__ mean_out,
                                      float* __restrict__ root_out, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 a = *reinterpret_cast<const float4*>(w + i);
        float4 g = *reinterpret_cast<const float4*>(gradient + i);
        float4 m = *reinterpret_cast<const float4*>(mean + i);
        float4 r = *reinterpret_cast<const float4*>(root + i);
        step(a.x, g.x, m.x, r.x);
        step(a.y, g.y, m.y, r.y);
        step(a.z, g.z, m.z, r.z);
        step(a.w, g.w, m.w, r.w);
        *reinterpret_cast<float4*>(w_out + i) = a;
        *reinterpret_cast<float4*>(mean_out + i) = m;
        *reinterpret_cast<float4*>(root_out + i) = r;
    } else {
        for (; i < n; ++i) {
            float a = w[i], m = mean[i], r = root[i];
            step(a, gradient[i], m, r);
            w_out[i] = a;
            mean_out[i] = m;
            root_out[i] = r;
        }
    }
}
