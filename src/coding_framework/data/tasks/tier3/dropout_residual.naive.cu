// launch: dropout_residual grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void dropout_residual(const float* residual, const float* x, const float* noise,
                                            float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (noise[i] >= 0.25f) {
            y[i] = residual[i] + x[i] * (4.0f / 3.0f);
        } else {
            y[i] = residual[i];
        }
    }
}
