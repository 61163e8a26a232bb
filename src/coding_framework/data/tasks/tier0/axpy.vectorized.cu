// Four elements a thread through 16-byte loads; the last n % 4 elements one by one.
// launch: axpy grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float axpy_of(float u, float v) {
    return fmaf(1.75f, u, v);
}

extern "C" __global__ void axpy(const float* __restrict__ a, const float* __restrict__ b,
                                float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 a4 = *reinterpret_cast<const float4*>(a + start);
        float4 b4 = *reinterpret_cast<const float4*>(b + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            axpy_of(a4.x, b4.x),
            axpy_of(a4.y, b4.y),
            axpy_of(a4.z, b4.z),
            axpy_of(a4.w, b4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = axpy_of(a[i], b[i]);
        }
    }
}
