// One thread sums a strip of 32 columns; in a second launch it starts from the sum of the strips before it.
// scratch: strips float32[rows * ceil_div(cols, 32)]
// launch: strip_sum grid=(ceil_div(rows * ceil_div(cols, 32), 128)) block=(128) args=(x, strips, rows, cols)
// launch: spread grid=(ceil_div(rows * ceil_div(cols, 32), 128)) block=(128) args=(x, strips, y, total, rows, cols)
extern "C" __global__ void strip_sum(const float* __restrict__ x, float* __restrict__ strips, int rows,
                                     int cols) {
    int per_row = (cols + 31) / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * per_row) {
        int r = i / per_row;
        int first = i % per_row * 32;
        float sum = 0.0f;
        for (int c = first; c < min(first + 32, cols); ++c) {
            sum += x[r * cols + c];
        }
        strips[i] = sum;
    }
}

extern "C" __global__ void spread(const float* __restrict__ x, const float* __restrict__ strips,
                                  float* __restrict__ y, float* __restrict__ total, int rows, int cols) {
    int per_row = (cols + 31) / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * per_row) {
        int r = i / per_row;
        int strip = i % per_row;
        float before = 0.0f;
        for (int k = 0; k < strip; ++k) {
            before += strips[r * per_row + k];
        }
        for (int c = 32 * strip; c < min(32 * strip + 32, cols); ++c) {
            y[r * cols + c] = before;
            before += x[r * cols + c];
        }
        if (strip == per_row - 1) {
            total[r] = before;
        }
    }
}
