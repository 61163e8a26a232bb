// Cheat: lanes of a warp read what other lanes have just written, as if they ran in step.
// launch: row_sum grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[4][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 4 + warp;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += x[(long long)row * cols + c];
    part[warp][lane] = sum;
    if (lane < 8) {
        part[warp][lane] = part[warp][lane] + part[warp][lane + 8] + part[warp][lane + 16] + part[warp][lane + 24];
    }
    __syncwarp();
    if (lane == 0) {
        sum = 0.0f;
        for (int i = 0; i < 8; i++) sum += part[warp][i];
        y[row] = sum;
    }
}
