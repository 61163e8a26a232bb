// Two elements an instruction; an odd last element by its own.
#include <cuda_bf16.h>

// launch: scale_bfloat16 grid=(ceil_div(n, 512)) block=(256)
extern "C" __global__ void scale_bfloat16(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y,
                                          int n) {
    int start = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 1 < n) {
        __nv_bfloat162 v = *reinterpret_cast<const __nv_bfloat162*>(x + start);
        *reinterpret_cast<__nv_bfloat162*>(y + start) = __hmul2(v, __float2bfloat162_rn(1.5f));
    } else if (start < n) {
        y[start] = __float2bfloat16(1.5f * __bfloat162float(x[start]));
    }
}
