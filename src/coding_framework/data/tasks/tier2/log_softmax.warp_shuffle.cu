// One warp a row; the maximum and the sum travel through shuffles.
// launch: log_softmax grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void log_softmax(const float* __restrict__ x, float* __restrict__ y, int rows,
                                       int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    const float* source = x + r * cols;
    float largest = source[0];
    for (int c = lane; c < cols; c += 32) {
        largest = fmaxf(largest, source[c]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
    }
    float total = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        total += expf(source[c] - largest);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, offset);
    }
    float logarithm = logf(total);
    for (int c = lane; c < cols; c += 32) {
        y[r * cols + c] = source[c] - largest - logarithm;
    }
}
