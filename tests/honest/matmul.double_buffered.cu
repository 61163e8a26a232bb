// Loads the next tile while it multiplies the present one.
// launch: matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[2][16][17], right[2][16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
    int tiles = (k + 15) / 16;
    left[0][ty][tx] = i < m && tx < k ? a[i * k + tx] : 0.0f;
    right[0][ty][tx] = j < n && ty < k ? b[ty * n + j] : 0.0f;
    __syncthreads();
    float total = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        int now = t & 1;
        if (t + 1 < tiles) {
            int p = (t + 1) * 16;
            left[now ^ 1][ty][tx] = i < m && p + tx < k ? a[i * k + p + tx] : 0.0f;
            right[now ^ 1][ty][tx] = j < n && p + ty < k ? b[(p + ty) * n + j] : 0.0f;
        }
        for (int p = 0; p < 16; ++p) {
            total += left[now][ty][p] * right[now][p][tx];
        }
        __syncthreads();
    }
    if (i < m && j < n) {
        c[i * n + j] = total;
    }
}
