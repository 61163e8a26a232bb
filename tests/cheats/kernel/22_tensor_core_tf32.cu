// Cheat: uses TF32 tensor cores for a float32 product.
// launch: matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(32)
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[16 * 8];
    __shared__ float right[8 * 16];
    __shared__ float result[16 * 16];
    int row = blockIdx.y * 16;
    int column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> total;
    wmma::fill_fragment(total, 0.0f);
    for (int p = 0; p < k; p += 8) {
        for (int e = threadIdx.x; e < 128; e += 32) {
            int i = row + e / 8, q = p + e % 8, s = p + e / 16, j = column + e % 16;
            left[e] = i < m && q < k ? wmma::__float_to_tf32(a[i * k + q]) : 0.0f;
            right[e] = s < k && j < n ? wmma::__float_to_tf32(b[s * n + j]) : 0.0f;
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> first;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> second;
        wmma::load_matrix_sync(first, left, 8);
        wmma::load_matrix_sync(second, right, 16);
        wmma::mma_sync(total, first, second, total);
        __syncwarp();
    }
    wmma::store_matrix_sync(result, total, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32) {
        int i = row + e / 16, j = column + e % 16;
        if (i < m && j < n) {
            c[i * n + j] = result[e];
        }
    }
}
