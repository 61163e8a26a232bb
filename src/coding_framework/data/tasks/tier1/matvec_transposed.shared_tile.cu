// A block of 32 x 8 threads takes 32 columns: eight threads share a column's rows and meet in shared memory.
// launch: matvec_transposed grid=(ceil_div(cols, 32)) block=(32, 8)
extern "C" __global__ void matvec_transposed(const float* __restrict__ a, const float* __restrict__ x,
                                             float* __restrict__ y, int rows, int cols) {
    __shared__ float partial[8][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    float total = 0.0f;
    if (c < cols) {
        for (int r = threadIdx.y; r < rows; r += 8) {
            total = fmaf(a[r * cols + c], x[r], total);
        }
    }
    partial[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0 && c < cols) {
        for (int part = 1; part < 8; ++part) {
            total += partial[part][threadIdx.x];
        }
        y[c] = total;
    }
}
