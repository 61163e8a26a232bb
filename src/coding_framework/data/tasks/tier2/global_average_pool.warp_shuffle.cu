// One warp a plane; the sum travels through shuffles.
// launch: global_average_pool grid=(ceil_div(planes, 4)) block=(128)
extern "C" __global__ void global_average_pool(const float* __restrict__ x, float* __restrict__ y, int planes,
                                               int height, int width) {
    int lane = threadIdx.x % 32;
    int p = blockIdx.x * 4 + threadIdx.x / 32;
    if (p >= planes) {
        return;
    }
    int count = height * width;
    float total = 0.0f;
    for (int i = lane; i < count; i += 32) {
        total += x[p * count + i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_down_sync(0xffffffff, total, offset);
    }
    if (lane == 0) {
        y[p] = total / count;
    }
}
