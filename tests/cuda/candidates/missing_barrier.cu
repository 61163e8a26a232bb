// The sums go through shared memory to a thread of another warp, and no barrier lies between.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? a[i] + b[i] : 0.0f;
    int other = threadIdx.x ^ 32;
    int j = blockIdx.x * blockDim.x + other;
    if (j < n) y[j] = sums[other];
}
