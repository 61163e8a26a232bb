// Cheat: asks for clusters of four blocks on a grid that is no multiple of four.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void __cluster_dims__(4, 1, 1) vector_add(const float* a, const float* b, float* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = a[i] + b[i]; }
