// Two halves of k side by side in scratch, added in a second launch.
// scratch: partial float32[2 * m * n]
// launch: half_products grid=(ceil_div(n, 16), ceil_div(m, 16), 2) block=(16, 16) args=(a, b, partial, m, n, k)
// launch: add grid=(ceil_div(m * n, 256)) block=(256) args=(partial, c, m * n)
extern "C" __global__ void half_products(const float* a, const float* b, float* partial, int m, int n, int k) {
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    int middle = k / 2;
    int begin = blockIdx.z == 0 ? 0 : middle, end = blockIdx.z == 0 ? middle : k;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = begin; p < end; ++p) {
            total += a[i * k + p] * b[p * n + j];
        }
        partial[(blockIdx.z * m + i) * n + j] = total;
    }
}

extern "C" __global__ void add(const float* partial, float* c, int size) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < size) {
        c[at] = partial[at] + partial[size + at];
    }
}
