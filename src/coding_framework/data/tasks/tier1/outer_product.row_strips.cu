// A thread keeps its element of b in a register and writes it, scaled, into eight rows.
// launch: outer_product grid=(ceil_div(cols, 256), ceil_div(rows, 8)) block=(256)
extern "C" __global__ void outer_product(const float* __restrict__ a, const float* __restrict__ b,
                                         float* __restrict__ y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        float factor = b[c];
        int end = min(static_cast<int>(blockIdx.y + 1) * 8, rows);
        for (int r = blockIdx.y * 8; r < end; ++r) {
            y[r * cols + c] = a[r] * factor;
        }
    }
}
