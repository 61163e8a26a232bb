// Four elements a thread through 16-byte loads; the last n % 4 elements one by one.
// launch: clamp grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float clamped(float v) {
    return fminf(fmaxf(v, -0.75f), 1.25f);
}

extern "C" __global__ void clamp(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 x4 = *reinterpret_cast<const float4*>(x + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            clamped(x4.x),
            clamped(x4.y),
            clamped(x4.z),
            clamped(x4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = clamped(x[i]);
        }
    }
}
