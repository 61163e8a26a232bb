// launch: hyperbolic_tangent grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void hyperbolic_tangent(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = tanhf(x[i]);
    }
}
