// launch: vector_add grid=(ceil_div(n, 128)) block=(128)
extern "C" __global__ void __launch_bounds__(128, 8) vector_add(const float* a, const float* b, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    y[i] = a[i] + b[i];
}
