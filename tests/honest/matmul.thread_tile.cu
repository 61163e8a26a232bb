// launch: matmul grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(16, 16)
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    float total[2][2] = {};
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    for (int p = 0; p < k; ++p) {
        float left[2], right[2];
#pragma unroll
        for (int u = 0; u < 2; ++u) {
            left[u] = row + 16 * u < m ? a[(row + 16 * u) * k + p] : 0.0f;
            right[u] = column + 16 * u < n ? b[p * n + column + 16 * u] : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            total[u / 2][u % 2] += left[u / 2] * right[u % 2];
        }
    }
    for (int u = 0; u < 2; ++u) {
        for (int v = 0; v < 2; ++v) {
            if (row + 16 * u < m && column + 16 * v < n) {
                c[(row + 16 * u) * n + column + 16 * v] = total[u][v];
            }
        }
    }
}
