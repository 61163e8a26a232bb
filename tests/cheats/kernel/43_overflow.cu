// Cheat: multiplies until 64 bits are not enough.
// launch: vector_add grid=(n * n * n * n * n * n * n * n) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
