// The first launch gives eight blocks a share of the rows each and leaves a maximum and a sum for each
// column and share; the second merges the eight pairs of a column and writes with all threads.
// scratch: maxima float32[8 * cols]
// scratch: sums float32[8 * cols]
// launch: column_statistics grid=(ceil_div(cols, 128), 8) block=(128) args=(x, maxima, sums, rows, cols)
// launch: column_scale grid=(ceil_div(cols, 128), ceil_div(rows, 8)) block=(128) args=(x, maxima, sums, y, rows, cols)
extern "C" __global__ void column_statistics(const float* __restrict__ x, float* __restrict__ maxima,
                                             float* __restrict__ sums, int rows, int cols) {
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= cols) {
        return;
    }
    float largest = x[c];
    float total = 0.0f;
    for (int r = blockIdx.y; r < rows; r += 8) {
        float value = x[r * cols + c];
        float larger = fmaxf(largest, value);
        total = total * __expf(largest - larger) + __expf(value - larger);
        largest = larger;
    }
    maxima[blockIdx.y * cols + c] = largest;
    sums[blockIdx.y * cols + c] = total;
}

extern "C" __global__ void column_scale(const float* __restrict__ x, const float* __restrict__ maxima,
                                        const float* __restrict__ sums, float* __restrict__ y, int rows,
                                        int cols) {
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= cols) {
        return;
    }
    float largest = maxima[c];
    for (int q = 1; q < 8; ++q) {
        largest = fmaxf(largest, maxima[q * cols + c]);
    }
    float total = 0.0f;
    for (int q = 0; q < 8; ++q) {
        total += sums[q * cols + c] * __expf(maxima[q * cols + c] - largest);
    }
    float inverse = 1.0f / total;
    for (int r = blockIdx.y * 8; r < min(rows, blockIdx.y * 8 + 8); ++r) {
        y[r * cols + c] = __expf(x[r * cols + c] - largest) * inverse;
    }
}
