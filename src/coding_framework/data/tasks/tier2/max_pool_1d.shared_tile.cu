// A block loads the 128 + window - 1 values that its 128 windows cover once.
// launch: max_pool_1d grid=(ceil_div(n, 128), rows) block=(128) shared=4*(127 + window)
extern "C" __global__ void max_pool_1d(const float* __restrict__ x, float* __restrict__ y, int rows, int n,
                                       int window) {
    extern __shared__ float tile[];
    int first = blockIdx.x * 128, length = n + window - 1;
    const float* source = x + blockIdx.y * length;
    for (int e = threadIdx.x; e < 127 + window; e += 128) {
        tile[e] = source[min(first + e, length - 1)];
    }
    __syncthreads();
    if (first + threadIdx.x < n) {
        float largest = tile[threadIdx.x];
        for (int t = 1; t < window; ++t) {
            largest = fmaxf(largest, tile[threadIdx.x + t]);
        }
        y[blockIdx.y * n + first + threadIdx.x] = largest;
    }
}
