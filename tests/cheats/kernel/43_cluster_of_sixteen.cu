// Cheat: asks for clusters of sixteen blocks, which only a host that allows them can launch.
// launch: vector_add grid=(16 * ceil_div(n, 4096)) block=(256)
extern "C" __global__ void __cluster_dims__(16, 1, 1) vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a[i] + b[i];
}
