// One instruction for root and quotient, four elements a thread; the last n % 4 elements one by one.
// launch: inverse_root grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float inverse_root_of(float v) {
    return rsqrtf(fmaf(v, v, 0.25f));
}

extern "C" __global__ void inverse_root(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 x4 = *reinterpret_cast<const float4*>(x + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            inverse_root_of(x4.x),
            inverse_root_of(x4.y),
            inverse_root_of(x4.z),
            inverse_root_of(x4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = inverse_root_of(x[i]);
        }
    }
}
