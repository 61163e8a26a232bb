// One warp a row: 32 columns are scanned by shuffles, and their largest is carried to the next 32.
// launch: running_max grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void running_max(const float* __restrict__ x, float* __restrict__ y, int rows,
                                       int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float carried = x[r * cols];
    for (int first = 0; first < cols; first += 32) {
        int c = first + lane;
        float largest = c < cols ? fmaxf(carried, x[r * cols + c]) : carried;
        for (int offset = 1; offset < 32; offset *= 2) {
            float before = __shfl_up_sync(0xffffffff, largest, offset);
            largest = lane >= offset ? fmaxf(largest, before) : largest;
        }
        if (c < cols) {
            y[r * cols + c] = largest;
        }
        carried = __shfl_sync(0xffffffff, largest, 31);
    }
}
