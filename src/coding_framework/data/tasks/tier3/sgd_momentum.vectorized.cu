// Four elements a thread through 16-byte loads and stores; the last thread ends the arrays one by one.
// launch: sgd_momentum grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float moved(float w, float gradient, float momentum) {
    return 0.9f * momentum + gradient + 0.01f * w;
}

extern "C" __global__ void sgd_momentum(const float* __restrict__ w, const float* __restrict__ gradient,
                                        const float* __restrict__ momentum, float* __restrict__ w_out,
                                        float* __restrict__ momentum_out, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 a = *reinterpret_cast<const float4*>(w + i);
        float4 g = *reinterpret_cast<const float4*>(gradient + i);
        float4 m = *reinterpret_cast<const float4*>(momentum + i);
        m = make_float4(moved(a.x, g.x, m.x), moved(a.y, g.y, m.y), moved(a.z, g.z, m.z), moved(a.w, g.w, m.w));
        *reinterpret_cast<float4*>(momentum_out + i) = m;
        *reinterpret_cast<float4*>(w_out + i) =
            make_float4(a.x - 0.1f * m.x, a.y - 0.1f * m.y, a.z - 0.1f * m.z, a.w - 0.1f * m.w);
    } else {
        for (; i < n; ++i) {
            float m = moved(w[i], gradient[i], momentum[i]);
            momentum_out[i] = m;
            w_out[i] = w[i] - 0.1f * m;
        }
    }
}
