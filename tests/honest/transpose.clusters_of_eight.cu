// Clusters of two by four blocks, as many as are allowed.
// launch: transpose grid=(2 * ceil_div(cols, 64), 4 * ceil_div(rows, 128)) block=(32, 8)
extern "C" __global__ void __cluster_dims__(2, 4, 1) transpose(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (c < cols && r + i < rows) tile[threadIdx.y + i][threadIdx.x] = x[(size_t)(r + i) * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (c < rows && r + i < cols) y[(size_t)(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
}
