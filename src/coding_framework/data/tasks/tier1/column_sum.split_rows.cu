// Chunks of 32 rows are summed side by side into scratch memory, then the chunks of a column.
// scratch: partial float32[ceil_div(rows, 32) * cols]
// launch: chunk_sum grid=(ceil_div(cols, 128), ceil_div(rows, 32)) block=(128) args=(x, partial, rows, cols)
// launch: combine grid=(ceil_div(cols, 128)) block=(128) args=(partial, y, ceil_div(rows, 32), cols)
extern "C" __global__ void chunk_sum(const float* __restrict__ x, float* __restrict__ partial, int rows,
                                     int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int end = min(static_cast<int>(blockIdx.y + 1) * 32, rows);
    if (c < cols) {
        float total = 0.0f;
        for (int r = blockIdx.y * 32; r < end; ++r) {
            total += x[r * cols + c];
        }
        partial[blockIdx.y * cols + c] = total;
    }
}

extern "C" __global__ void combine(const float* __restrict__ partial, float* __restrict__ y, int chunks,
                                   int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        float total = 0.0f;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            total += partial[chunk * cols + c];
        }
        y[c] = total;
    }
}
