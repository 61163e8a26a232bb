// Four elements a thread through 16-byte loads; the choice is a select, so no lane waits for another.
// launch: dropout_residual grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float keep(float residual, float x, float noise) {
    return residual + (noise >= 0.25f ? x * (4.0f / 3.0f) : 0.0f);
}

extern "C" __global__ void dropout_residual(const float* __restrict__ residual, const float* __restrict__ x,
                                            const float* __restrict__ noise, float* __restrict__ y, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 r = *reinterpret_cast<const float4*>(residual + i);
        float4 v = *reinterpret_cast<const float4*>(x + i);
        float4 u = *reinterpret_cast<const float4*>(noise + i);
        *reinterpret_cast<float4*>(y + i) = make_float4(keep(r.x, v.x, u.x), keep(r.y, v.y, u.y),
                                                        keep(r.z, v.z, u.z), keep(r.w, v.w, u.w));
    } else {
        for (; i < n; ++i) {
            y[i] = keep(residual[i], x[i], noise[i]);
        }
    }
}
