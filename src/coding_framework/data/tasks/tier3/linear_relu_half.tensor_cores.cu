// Tensor cores through `mma`: four warps compute 32 x 32 results, each 16 x 16 as two products a step. The
// weights lie as out x in, which is what the right factor wants: every fragment is a 4-byte read from shared
// memory, and a row of 40 halves puts the eight groups of lanes on different banks. Sums stay in registers.
// launch: linear_relu_half grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(32, 4)
#include <cuda_fp16.h>

__device__ __forceinline__ unsigned pair(const half* at) {
    return *reinterpret_cast<const unsigned*>(at);
}

extern "C" __global__ void linear_relu_half(const half* __restrict__ x, const half* __restrict__ w,
                                            const half* __restrict__ bias, half* __restrict__ y, int m, int n,
                                            int k) {
    __shared__ half tile_x[32][40], tile_w[32][40];
    int lane = threadIdx.x, g = lane / 4, t = lane % 4 * 2;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;
    int upper = threadIdx.y / 2 * 16, left = threadIdx.y % 2 * 16;
    half zero = __float2half(0.0f);
    float total[2][4] = {};
    for (int start = 0; start < k; start += 32) {
        bool inside = start + lane < k;
        for (int q = threadIdx.y; q < 32; q += 4) {
            tile_x[q][lane] = inside && row + q < m ? x[(row + q) * k + start + lane] : zero;
            tile_w[q][lane] = inside && col + q < n ? w[(col + q) * k + start + lane] : zero;
        }
        __syncthreads();
        for (int p = t; p < 32; p += 16) {
            unsigned a0 = pair(&tile_x[upper + g][p]), a1 = pair(&tile_x[upper + g + 8][p]);
            unsigned a2 = pair(&tile_x[upper + g][p + 8]), a3 = pair(&tile_x[upper + g + 8][p + 8]);
            #pragma unroll
            for (int s = 0; s < 2; ++s) {
                const half* column = tile_w[left + 8 * s + g];
                float* z = total[s];
                asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                    "{%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
                    : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(pair(column + p)), "r"(pair(column + p + 8)));
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int e = 0; e < 8; ++e) {
        int i = row + upper + g + e % 4 / 2 * 8, j = col + left + e / 4 * 8 + t + e % 2;
        if (i < m && j < n) {
            y[i * n + j] = __float2half(fmaxf(total[e / 4][e % 4] + __half2float(bias[j]), 0.0f));
        }
    }
}
