// Tensor cores: a block of four warps computes 32 x 32 elements, each warp two products of 16 x 16 x 16 a
// step. Tiles are staged in shared memory with zeros beyond the edges, so every size fits.
// launch: matmul_half grid=(ceil_div(n, 32), ceil_div(m, 32)) block=(32, 4)
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void matmul_half(const half* __restrict__ a, const half* __restrict__ b,
                                       half* __restrict__ c, int m, int n, int k) {
    __shared__ __align__(32) half tile_a[32][32];
    __shared__ __align__(32) half tile_b[32][32];
    __shared__ __align__(32) float result[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32, j = blockIdx.x * 32 + tx;
    int upper = ty / 2 * 16, left = ty % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> rows;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> columns;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> total;
    wmma::fill_fragment(total, 0.0f);
    half zero = __float2half(0.0f);
    for (int start = 0; start < k; start += 32) {
        for (int q = ty; q < 32; q += 4) {
            tile_a[q][tx] = row + q < m && start + tx < k ? a[(row + q) * k + start + tx] : zero;
            tile_b[q][tx] = start + q < k && j < n ? b[(start + q) * n + j] : zero;
        }
        __syncthreads();
        for (int p = 0; p < 32; p += 16) {
            wmma::load_matrix_sync(rows, &tile_a[upper][p], 32);
            wmma::load_matrix_sync(columns, &tile_b[p][left], 32);
            wmma::mma_sync(total, rows, columns, total);
        }
        __syncthreads();
    }
    wmma::store_matrix_sync(&result[upper][left], total, 32, wmma::mem_row_major);
    __syncthreads();
    for (int q = ty; q < 32; q += 4) {
        if (row + q < m && j < n) {
            c[(row + q) * n + j] = __float2half(result[q][tx]);
        }
    }
}
