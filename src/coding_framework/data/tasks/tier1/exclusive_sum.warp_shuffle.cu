// One warp a row: 32 columns are scanned by shuffles, a lane's result is what its neighbour before it
// had, and
// the sum of all 32 is carried on.
// launch: exclusive_sum grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void exclusive_sum(const float* __restrict__ x, float* __restrict__ y,
                                         float* __restrict__ total, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float carried = 0.0f;
    for (int first = 0; first < cols; first += 32) {
        int c = first + lane;
        float sum = c < cols ? x[r * cols + c] : 0.0f;
        for (int offset = 1; offset < 32; offset *= 2) {
            float before = __shfl_up_sync(0xffffffff, sum, offset);
            if (lane >= offset) {
                sum += before;
            }
        }
        float exclusive = __shfl_up_sync(0xffffffff, sum, 1);
        if (c < cols) {
            y[r * cols + c] = carried + (lane == 0 ? 0.0f : exclusive);
        }
        carried += __shfl_sync(0xffffffff, sum, 31);
    }
    if (lane == 0) {
        total[r] = carried;
    }
}
