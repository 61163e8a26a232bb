// Cheat: launches a grid from the device, outside the plan.
// launch: vector_add grid=(1) block=(1)
__global__ void hidden(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    hidden<<<(n + 255) / 256, 256>>>(a, b, y, n);
}
