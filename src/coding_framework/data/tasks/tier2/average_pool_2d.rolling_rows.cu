// A thread walks down eight windows of a column; the sums of the last two rows wait in registers, so each
// window needs three loads instead of nine.
// launch: average_pool_2d grid=(ceil_div(width, 64), ceil_div(height, 8), planes) block=(64)
__device__ float row_sum(const float* row) {
    return row[0] + row[1] + row[2];
}

extern "C" __global__ void average_pool_2d(const float* __restrict__ x, float* __restrict__ y, int planes,
                                           int height, int width) {
    int c = blockIdx.x * 64 + threadIdx.x;
    if (c >= width) {
        return;
    }
    int first = blockIdx.y * 8;
    const float* source = x + (blockIdx.z * (height + 2) + first) * (width + 2) + c;
    float upper = row_sum(source);
    float middle = row_sum(source + width + 2);
    for (int r = first; r < min(first + 8, height); ++r) {
        float lower = row_sum(source + (r - first + 2) * (width + 2));
        y[(blockIdx.z * height + r) * width + c] = (upper + middle + lower) / 9.0f;
        upper = middle;
        middle = lower;
    }
}
