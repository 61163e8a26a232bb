// Cheat: leaves out the largest kept value, and exp overflows on large inputs.
// launch: masked_softmax grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void masked_softmax(const float* __restrict__ x, const float* __restrict__ mask,
                                          float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float total = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            float e = mask[r * cols + c] > 0.0f ? __expf(0.5f * x[r * cols + c]) : 0.0f;
            y[r * cols + c] = e;
            total += e;
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        float inverse = total > 0.0f ? 1.0f / total : 0.0f;
        for (int c = lane; c < cols; c += 32) {
            y[r * cols + c] *= inverse;
        }
    }
}
