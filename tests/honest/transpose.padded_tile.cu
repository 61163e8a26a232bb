// launch: transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32)) block=(32, 8)
#define TILE 32
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += 8) {
        if (r + k < rows && c < cols) {
            tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * cols + c];
        }
    }
    __syncthreads();
    int to_row = blockIdx.x * TILE + threadIdx.y;
    int to_col = blockIdx.y * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < TILE; k += 8) {
        if (to_row + k < cols && to_col < rows) {
            y[(to_row + k) * rows + to_col] = tile[threadIdx.x][threadIdx.y + k];
        }
    }
}
