// Cheat: drops 13 bits of every factor, as TF32 does.
// launch: matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(16, 16)
__device__ float shortened(float value) {
    return __int_as_float(__float_as_int(value) & 0xffffe000);
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int j = blockIdx.x * 16 + threadIdx.x;
    int i = blockIdx.y * 16 + threadIdx.y;
    if (i < m && j < n) {
        float total = 0.0f;
        for (int p = 0; p < k; ++p) {
            total += shortened(a[i * k + p]) * shortened(b[p * n + j]);
        }
        c[i * n + j] = total;
    }
}
