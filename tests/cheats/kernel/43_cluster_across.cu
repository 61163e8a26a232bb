// Cheat: the grid is a multiple of the cluster along one axis and not along the other.
// launch: transpose grid=(2 * ceil_div(cols, 64), ceil_div(rows, 32)) block=(32, 8)
extern "C" __global__ void __cluster_dims__(2, 3, 1) transpose(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int r = blockIdx.y * 32 + threadIdx.y; r < min(rows, (int)blockIdx.y * 32 + 32); r += 8)
        if (c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}
