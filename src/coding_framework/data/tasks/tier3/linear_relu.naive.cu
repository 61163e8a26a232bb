// launch: linear_relu grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void linear_relu(const float* x, const float* w, const float* bias, float* y, int m,
                                       int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float total = bias[j];
        for (int p = 0; p < k; ++p) {
            total += x[i * k + p] * w[j * k + p];
        }
        y[i * n + j] = fmaxf(total, 0.0f);
    }
}
