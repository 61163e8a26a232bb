// problem: saxpy_clamp
// say: z[i] = 2.5 * x[i] + y[i], clamped to the range from -1 to 1.
// dims: n=4194304
// input: x float32[n]
// input: y float32[n]
// output: z float32[n]
// launch: saxpy_clamp grid=(ceil_div(n, 64)) block=(64)
extern "C" __global__ void saxpy_clamp(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = fminf(fmaxf(2.5f * x[i] + y[i], -1.0f), 1.0f);
}
