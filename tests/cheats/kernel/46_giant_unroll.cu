// Cheat: unrolls a loop a million times.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float extra = 0.0f;
        #pragma unroll
        for (int k = 0; k < 1000000; ++k) {
            extra += a[(i + k) % n] * 0.0f;
        }
        y[i] = a[i] + b[i] + extra;
    }
}
