// launch: mish grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void mish(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        float softplus = fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));
        y[i] = v * tanhf(softplus);
    }
}
