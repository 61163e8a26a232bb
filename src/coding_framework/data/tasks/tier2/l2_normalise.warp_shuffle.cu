// One warp a row; the sum of squares travels through shuffles.
// launch: l2_normalise grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void l2_normalise(const float* __restrict__ x, float* __restrict__ y, int rows,
                                        int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float squares = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float value = x[r * cols + c];
        squares += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        squares += __shfl_xor_sync(0xffffffff, squares, offset);
    }
    float inverse = rsqrtf(squares + 1e-6f);
    for (int c = lane; c < cols; c += 32) {
        y[r * cols + c] = x[r * cols + c] * inverse;
    }
}
