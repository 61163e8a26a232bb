// launch: clamp grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void clamp(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        if (v < -0.75f) {
            v = -0.75f;
        }
        if (v > 1.25f) {
            v = 1.25f;
        }
        y[i] = v;
    }
}
