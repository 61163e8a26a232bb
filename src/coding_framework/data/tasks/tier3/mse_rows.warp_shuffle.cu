// One warp a row: lanes read neighbours, the sum travels through shuffles.
// launch: mse_rows grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void mse_rows(const float* __restrict__ x, const float* __restrict__ target,
                                    float* __restrict__ loss, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float total = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            float d = x[r * cols + c] - target[r * cols + c];
            total += d * d;
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        if (lane == 0) {
            loss[r] = total / cols;
        }
    }
}
