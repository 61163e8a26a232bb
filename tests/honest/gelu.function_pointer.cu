// gpu only: an indirect call, which the emulator does not follow.
// launch: gelu grid=(ceil_div(n, 256)) block=(256)
__device__ float by_tanh(float x) {
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__device__ __noinline__ float apply(float (*function)(float), float x) {
    return function(x);
}

extern "C" __global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = apply(n > 0 ? by_tanh : nullptr, x[i]);
    }
}
