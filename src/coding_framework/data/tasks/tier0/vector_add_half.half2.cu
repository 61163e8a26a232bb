// Two elements an instruction; an odd last element by its own.
#include <cuda_fp16.h>

// launch: vector_add_half grid=(ceil_div(n, 512)) block=(256)
extern "C" __global__ void vector_add_half(const half* __restrict__ a, const half* __restrict__ b,
                                    half* __restrict__ y, int n) {
    int start = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 1 < n) {
        half2 u = *reinterpret_cast<const half2*>(a + start);
        half2 v = *reinterpret_cast<const half2*>(b + start);
        *reinterpret_cast<half2*>(y + start) = __hadd2(u, v);
    } else if (start < n) {
        y[start] = __hadd(a[start], b[start]);
    }
}
