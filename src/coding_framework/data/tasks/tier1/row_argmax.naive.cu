// launch: row_argmax grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void row_argmax(const float* x, float* largest, int* position, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float best = x[r * cols];
        int where = 0;
        for (int c = 1; c < cols; ++c) {
            if (x[r * cols + c] > best) {
                best = x[r * cols + c];
                where = c;
            }
        }
        largest[r] = best;
        position[r] = where;
    }
}
