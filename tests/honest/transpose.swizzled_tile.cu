// No padding: columns of the tile are exchanged by an exclusive or.
// launch: transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 32)
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) {
        tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = x[r * cols + c];
    }
    __syncthreads();
    int to_row = blockIdx.x * 32 + threadIdx.y;
    int to_col = blockIdx.y * 32 + threadIdx.x;
    if (to_row < cols && to_col < rows) {
        y[to_row * rows + to_col] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
    }
}
