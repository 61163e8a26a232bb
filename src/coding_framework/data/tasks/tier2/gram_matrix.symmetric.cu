// Only tiles on and below the diagonal are computed; each is written twice, the second time transposed
// through shared memory so that both writes are whole lines.
// launch: gram_matrix grid=(ceil_div(cols, 16), ceil_div(cols, 16)) block=(16, 16)
extern "C" __global__ void gram_matrix(const float* __restrict__ x, float* __restrict__ c, int rows,
                                       int cols) {
    __shared__ float left[16][17];
    __shared__ float right[16][17];
    if (blockIdx.x > blockIdx.y) {
        return;
    }
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    float total = 0.0f;
    for (int start = 0; start < rows; start += 16) {
        bool inside = start + ty < rows;
        left[ty][tx] = inside && row + tx < cols ? x[(start + ty) * cols + row + tx] : 0.0f;
        right[ty][tx] = inside && col + tx < cols ? x[(start + ty) * cols + col + tx] : 0.0f;
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            total += left[p][ty] * right[p][tx];
        }
        __syncthreads();
    }
    if (row + ty < cols && col + tx < cols) {
        c[(row + ty) * cols + col + tx] = total;
    }
    if (blockIdx.x < blockIdx.y) {
        left[ty][tx] = total;
        __syncthreads();
        if (col + ty < cols && row + tx < cols) {
            c[(col + ty) * cols + row + tx] = left[tx][ty];
        }
    }
}
