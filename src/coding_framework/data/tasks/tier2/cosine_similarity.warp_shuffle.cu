// One warp a row; the three sums travel through shuffles together.
// launch: cosine_similarity grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void cosine_similarity(const float* __restrict__ a, const float* __restrict__ b,
                                             float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float dot = 0.0f, length_a = 0.0f, length_b = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float u = a[r * cols + c];
        float v = b[r * cols + c];
        dot += u * v;
        length_a += u * u;
        length_b += v * v;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        dot += __shfl_down_sync(0xffffffff, dot, offset);
        length_a += __shfl_down_sync(0xffffffff, length_a, offset);
        length_b += __shfl_down_sync(0xffffffff, length_b, offset);
    }
    if (lane == 0) {
        y[r] = dot / (sqrtf(length_a) * sqrtf(length_b) + 1e-8f);
    }
}
