// launch: matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
template <int T>
__device__ void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[T][T], right[T][T];
    int j = blockIdx.x * T + threadIdx.x, i = blockIdx.y * T + threadIdx.y;
    float total = 0.0f;
    for (int start = 0; start < k; start += T) {
        left[threadIdx.y][threadIdx.x] = i < m && start + threadIdx.x < k ? a[i * k + start + threadIdx.x] : 0.0f;
        right[threadIdx.y][threadIdx.x] = j < n && start + threadIdx.y < k ? b[(start + threadIdx.y) * n + j] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int p = 0; p < T; ++p) {
            total += left[threadIdx.y][p] * right[p][threadIdx.x];
        }
        __syncthreads();
    }
    if (i < m && j < n) {
        c[i * n + j] = total;
    }
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    multiply<16>(a, b, c, m, n, k);
}
