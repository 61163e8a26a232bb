// Tiles of 16 rows by 32 columns; a thread owns two neighbouring columns, which it loads, keeps and stores
// as one half2 where n is even (only then does every row start at an aligned pair).
// launch: matmul_half grid=(ceil_div(n, 32), ceil_div(m, 16)) block=(16, 16)
#include <cuda_fp16.h>

__device__ half2 load_pair(const half* row, int j, int n) {
    if (n % 2 == 0 && j + 1 < n) {
        return *reinterpret_cast<const half2*>(row + j);
    }
    half zero = __float2half(0.0f);
    return __halves2half2(j < n ? row[j] : zero, j + 1 < n ? row[j + 1] : zero);
}

extern "C" __global__ void matmul_half(const half* __restrict__ a, const half* __restrict__ b,
                                       half* __restrict__ c, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ half2 tile_b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 16 + ty;
    int j = blockIdx.x * 32 + 2 * tx;
    float2 total = make_float2(0.0f, 0.0f);
    for (int start = 0; start < k; start += 16) {
        tile_a[ty][tx] = i < m && start + tx < k ? __half2float(a[i * k + start + tx]) : 0.0f;
        tile_b[ty][tx] =
            start + ty < k ? load_pair(b + (start + ty) * n, j, n) : __float2half2_rn(0.0f);
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float2 pair = __half22float2(tile_b[p][tx]);
            total.x += tile_a[ty][p] * pair.x;
            total.y += tile_a[ty][p] * pair.y;
        }
        __syncthreads();
    }
    if (i < m && n % 2 == 0 && j < n) {
        *reinterpret_cast<half2*>(c + i * n + j) = __floats2half2_rn(total.x, total.y);
    } else if (i < m) {
        if (j < n) {
            c[i * n + j] = __float2half(total.x);
        }
        if (j + 1 < n) {
            c[i * n + j + 1] = __float2half(total.y);
        }
    }
}
