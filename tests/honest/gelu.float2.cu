// launch: gelu grid=(ceil_div(n, 512)) block=(256)
__device__ float gelu_of(float x) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
}

extern "C" __global__ void gelu(const float* x, float* y, int n) {
    int at = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (at + 1 < n) {
        float2 v = reinterpret_cast<const float2*>(x)[at / 2];
        reinterpret_cast<float2*>(y)[at / 2] = make_float2(gelu_of(v.x), gelu_of(v.y));
    } else if (at < n) {
        y[at] = gelu_of(x[at]);
    }
}
