#include <cuda_fp16.h>

// launch: vector_add_half grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add_half(const half* a, const half* b, half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __hadd(a[i], b[i]);
    }
}
