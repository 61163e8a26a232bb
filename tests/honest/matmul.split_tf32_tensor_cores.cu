// Three TF32 products of high and low parts keep the accuracy of float32.
// launch: matmul grid=(ceil_div(n, 16), ceil_div(m, 16)) block=(32)
#include <mma.h>
using namespace nvcuda;

__device__ void split(float value, float& high, float& low) {
    high = wmma::__float_to_tf32(value);
    low = wmma::__float_to_tf32(value - high);
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[2][16 * 8], right[2][8 * 16], result[16 * 16];
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> total;
    wmma::fill_fragment(total, 0.0f);
    for (int p = 0; p < k; p += 8) {
        for (int e = threadIdx.x; e < 128; e += 32) {
            int i = row + e / 8, q = p + e % 8, s = p + e / 16, j = column + e % 16;
            split(i < m && q < k ? a[i * k + q] : 0.0f, left[0][e], left[1][e]);
            split(s < k && j < n ? b[s * n + j] : 0.0f, right[0][e], right[1][e]);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> first[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> second[2];
        for (int part = 0; part < 2; ++part) {
            wmma::load_matrix_sync(first[part], left[part], 8);
            wmma::load_matrix_sync(second[part], right[part], 16);
        }
        wmma::mma_sync(total, first[1], second[0], total);
        wmma::mma_sync(total, first[0], second[1], total);
        wmma::mma_sync(total, first[0], second[0], total);
        __syncwarp();
    }
    wmma::store_matrix_sync(result, total, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32) {
        if (row + e / 16 < m && column + e % 16 < n) {
            c[(row + e / 16) * n + column + e % 16] = result[e];
        }
    }
}
