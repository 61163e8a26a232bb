// Each thread sums 16 elements, a warp adds its sums in one instruction, and one atomic addition a
// warp is left.
// launch: clear grid=(ceil_div(rows, 128)) block=(128) args=(y, rows)
// launch: chunk_sum grid=(ceil_div(cols, 4096), rows) block=(256) args=(x, y, cols)
extern "C" __global__ void clear(int* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        y[r] = 0;
    }
}

extern "C" __global__ void chunk_sum(const int* __restrict__ x, int* __restrict__ y, int cols) {
    const int* row = x + blockIdx.y * cols;
    int end = min(static_cast<int>(blockIdx.x + 1) * 4096, cols);
    int total = 0;
    for (int c = blockIdx.x * 4096 + threadIdx.x; c < end; c += 256) {
        total += row[c];
    }
    total = __reduce_add_sync(0xffffffff, total);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&y[blockIdx.y], total);
    }
}
