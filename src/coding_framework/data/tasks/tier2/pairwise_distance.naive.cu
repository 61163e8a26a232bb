// launch: pairwise_distance grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void pairwise_distance(const float* x, const float* y, float* d, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = 0; p < k; ++p) {
            float difference = x[i * k + p] - y[j * k + p];
            total += difference * difference;
        }
        d[i * n + j] = total;
    }
}
