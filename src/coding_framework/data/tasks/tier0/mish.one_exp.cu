// tanh(log(1 + u)) = (u * u + 2u) / (u * u + 2u + 2): one exponential instead of three functions.
// launch: mish grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float mish_of(float v) {
    float u = __expf(fminf(v, 20.0f));
    float numerator = u * (u + 2.0f);
    return v * (numerator / (numerator + 2.0f));
}

extern "C" __global__ void mish(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 x4 = *reinterpret_cast<const float4*>(x + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            mish_of(x4.x),
            mish_of(x4.y),
            mish_of(x4.z),
            mish_of(x4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = mish_of(x[i]);
        }
    }
}
