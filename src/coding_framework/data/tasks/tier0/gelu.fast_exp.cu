// tanh(u) = 1 - 2 / (1 + exp(2u)), so 0.5 * (1 + tanh(u)) = 1 - 1 / (1 + exp(2u)): one fast exponential.
// launch: gelu grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ float gelu_of(float v) {
    float twice_inner = 1.5957691216f * (v + 0.044715f * v * v * v);
    return v * (1.0f - 1.0f / (1.0f + __expf(twice_inner)));
}

extern "C" __global__ void gelu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(x + start);
        float4 result = make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
        *reinterpret_cast<float4*>(y + start) = result;
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = gelu_of(x[i]);
        }
    }
}
