// One warp a row: 32 columns are scanned by shuffles, and their sum is carried to the next 32.
// launch: prefix_sum grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void prefix_sum(const float* __restrict__ x, float* __restrict__ y, int rows,
                                      int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float carried = 0.0f;
    for (int first = 0; first < cols; first += 32) {
        int c = first + lane;
        float total = c < cols ? x[r * cols + c] : 0.0f;
        for (int offset = 1; offset < 32; offset *= 2) {
            float before = __shfl_up_sync(0xffffffff, total, offset);
            if (lane >= offset) {
                total += before;
            }
        }
        total += carried;
        if (c < cols) {
            y[r * cols + c] = total;
        }
        carried = __shfl_sync(0xffffffff, total, 31);
    }
}
