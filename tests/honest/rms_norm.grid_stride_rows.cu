// launch: rms_norm grid=(min(256, ceil_div(rows, 4))) block=(128)
extern "C" __global__ void rms_norm(const float* x, const float* weight, float* y, int rows, int cols) {
    int lane = threadIdx.x & 31;
    for (int r = blockIdx.x * 4 + (threadIdx.x >> 5); r < rows; r += gridDim.x * 4) {
        float squares = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            squares = fmaf(x[r * cols + c], x[r * cols + c], squares);
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            squares += __shfl_xor_sync(0xffffffff, squares, offset);
        }
        float inverse = rsqrtf(squares / cols + 1e-5f);
        for (int c = lane; c < cols; c += 32) {
            y[r * cols + c] = x[r * cols + c] * inverse * weight[c];
        }
    }
}
