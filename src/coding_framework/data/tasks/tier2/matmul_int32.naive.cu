// launch: matmul_int32 grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
extern "C" __global__ void matmul_int32(const int* a, const int* b, int* c, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        int total = 0;
        for (int p = 0; p < k; ++p) {
            total += a[i * k + p] * b[p * n + j];
        }
        c[i * n + j] = total;
    }
}
