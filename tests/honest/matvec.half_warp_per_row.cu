// launch: matvec grid=(ceil_div(rows, 8)) block=(128)
extern "C" __global__ void matvec(const float* a, const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * 8 + threadIdx.x / 16;
    int lane = threadIdx.x % 16;
    float total = 0.0f;
    if (r < rows) {
        for (int c = lane; c < cols; c += 16) {
            total += a[r * cols + c] * __ldg(&x[c]);
        }
    }
    for (int offset = 8; offset > 0; offset /= 2) {
        total += __shfl_down_sync(0xffffffffu, total, offset, 16);
    }
    if (lane == 0 && r < rows) {
        y[r] = total;
    }
}
