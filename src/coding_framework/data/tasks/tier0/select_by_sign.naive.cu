// launch: select_by_sign grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void select_by_sign(const float* condition, const float* a, const float* b, float* y,
                                          int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (condition[i] > 0.0f) {
            y[i] = a[i];
        } else {
            y[i] = b[i];
        }
    }
}
