// A 32 x 32 tile through shared memory makes reads and writes coalesced. A row of 34 elements is 17 words,
// an odd number, so that a column's elements lie in different banks.
#include <cuda_bf16.h>

// launch: transpose_bfloat16 grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 8)
extern "C" __global__ void transpose_bfloat16(const __nv_bfloat16* __restrict__ x,
                                              __nv_bfloat16* __restrict__ y, int rows, int cols) {
    __shared__ __nv_bfloat16 tile[32][34];
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int step = threadIdx.y; step < 32; step += 8) {
        int r = blockIdx.y * 32 + step;
        if (r < rows && c < cols) {
            tile[step][threadIdx.x] = x[r * cols + c];
        }
    }
    __syncthreads();
    int r = blockIdx.y * 32 + threadIdx.x;
    for (int step = threadIdx.y; step < 32; step += 8) {
        int column = blockIdx.x * 32 + step;
        if (r < rows && column < cols) {
            y[column * rows + r] = tile[threadIdx.x][step];
        }
    }
}
