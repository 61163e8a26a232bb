// Clusters of four blocks on a grid that is rounded up to a multiple of four.
// launch: vector_add grid=(4 * ceil_div(n, 1024)) block=(256)
extern "C" __global__ void __cluster_dims__(4, 1, 1) vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a[i] + b[i];
}
