// launch: gelu grid=(ceil_div(n, 128)) block=(128)
constexpr float kScale = 0.7978845608028654f;
constexpr float kCubic = 0.044715f;

template <typename T>
__device__ inline T half_times(T value) {
    return T(0.5) * value;
}

extern "C" __global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = half_times(v) * (1.0f + tanhf(kScale * fmaf(kCubic * v * v, v, v)));
    }
}
