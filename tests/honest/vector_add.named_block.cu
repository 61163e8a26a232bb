// The launch plan names the block's size, as the kernel does.
#define BLOCK_SIZE 256
#define ELEMENTS_PER_THREAD 4

// launch: vector_add grid=(ceil_div(n, BLOCK_SIZE * ELEMENTS_PER_THREAD)) block=(BLOCK_SIZE)
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ y, int n) {
    int i = blockIdx.x * BLOCK_SIZE * ELEMENTS_PER_THREAD + threadIdx.x;
#pragma unroll
    for (int k = 0; k < ELEMENTS_PER_THREAD; ++k, i += BLOCK_SIZE) {
        if (i < n) {
            y[i] = a[i] + b[i];
        }
    }
}
