// launch: swiglu grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void swiglu(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] / (1.0f + expf(-a[i])) * b[i];
    }
}
