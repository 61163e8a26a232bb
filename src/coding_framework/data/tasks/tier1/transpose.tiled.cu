// A 32 x 32 tile through shared memory makes reads and writes coalesced; the padding column
// keeps the transposed reads free of bank conflicts.
// launch: transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 8)
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32][33];
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
