// A block does 32 columns with 16 warps: lanes lie along the columns, so reads are whole lines, and every
// warp takes each sixteenth row. Maxima and sums of the warps meet in shared memory.
// launch: column_softmax grid=(ceil_div(cols, 32)) block=(32, 16)
extern "C" __global__ void column_softmax(const float* __restrict__ x, float* __restrict__ y, int rows,
                                          int cols) {
    __shared__ float partial[16][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int c = blockIdx.x * 32 + tx;
    bool inside = c < cols;
    float largest = inside ? x[c] : 0.0f;
    for (int r = ty; r < rows && inside; r += 16) {
        largest = fmaxf(largest, x[r * cols + c]);
    }
    partial[ty][tx] = largest;
    __syncthreads();
    for (int q = 0; q < 16; ++q) {
        largest = fmaxf(largest, partial[q][tx]);
    }
    __syncthreads();
    float total = 0.0f;
    for (int r = ty; r < rows && inside; r += 16) {
        total += __expf(x[r * cols + c] - largest);
    }
    partial[ty][tx] = total;
    __syncthreads();
    total = 0.0f;
    for (int q = 0; q < 16; ++q) {
        total += partial[q][tx];
    }
    float inverse = 1.0f / total;
    for (int r = ty; r < rows && inside; r += 16) {
        y[r * cols + c] = __expf(x[r * cols + c] - largest) * inverse;
    }
}
