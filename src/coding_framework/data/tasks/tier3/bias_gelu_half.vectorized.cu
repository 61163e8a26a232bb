// Eight columns a thread: one 16-byte load holds four half2; arithmetic in float.
// launch: bias_gelu_half grid=(ceil_div(cols, 1024), rows) block=(128)
#include <cuda_fp16.h>

__device__ __forceinline__ float gelu(float z) {
    return z / (1.0f + __expf(-1.5957691216f * (z + 0.044715f * z * z * z)));
}

extern "C" __global__ void bias_gelu_half(const half* __restrict__ x, const half* __restrict__ bias,
                                          half* __restrict__ y, int rows, int cols) {
    int c = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    int i = blockIdx.y * cols + c;
    if (cols % 8 != 0) {
        for (int last = min(c + 8, cols); c < last; ++c, ++i) {
            y[i] = __float2half(gelu(__half2float(x[i]) + __half2float(bias[c])));
        }
    } else if (c < cols) {
        uint4 values = *reinterpret_cast<const uint4*>(x + i);
        uint4 biases = *reinterpret_cast<const uint4*>(bias + c);
        half2* pair = reinterpret_cast<half2*>(&values);
        const half2* shift = reinterpret_cast<const half2*>(&biases);
        for (int p = 0; p < 4; ++p) {
            float2 v = __half22float2(pair[p]), b = __half22float2(shift[p]);
            pair[p] = __floats2half2_rn(gelu(v.x + b.x), gelu(v.y + b.y));
        }
        *reinterpret_cast<uint4*>(y + i) = values;
    }
}
