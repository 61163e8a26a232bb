#include <cuda_bf16.h>

// launch: scale_bfloat16 grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void scale_bfloat16(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __float2bfloat16(1.5f * __bfloat162float(x[i]));
    }
}
