// Two tiles of x in shared memory, both read along rows; a thread holds 2 x 2 sums.
// launch: gram_matrix grid=(ceil_div(cols, 32), ceil_div(cols, 32)) block=(16, 16)
extern "C" __global__ void gram_matrix(const float* __restrict__ x, float* __restrict__ c, int rows,
                                       int cols) {
    __shared__ float left[16][32];
    __shared__ float right[16][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;
    float total[2][2] = {};
    for (int start = 0; start < rows; start += 16) {
        for (int q = tx; q < 32; q += 16) {
            bool inside = start + ty < rows;
            left[ty][q] = inside && row + q < cols ? x[(start + ty) * cols + row + q] : 0.0f;
            right[ty][q] = inside && col + q < cols ? x[(start + ty) * cols + col + q] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; ++p) {
            float u0 = left[p][ty], u1 = left[p][ty + 16];
            float v0 = right[p][tx], v1 = right[p][tx + 16];
            total[0][0] += u0 * v0;
            total[0][1] += u0 * v1;
            total[1][0] += u1 * v0;
            total[1][1] += u1 * v1;
        }
        __syncthreads();
    }
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            int i = row + ty + 16 * s, j = col + tx + 16 * t;
            if (i < cols && j < cols) {
                c[i * cols + j] = total[s][t];
            }
        }
    }
}
