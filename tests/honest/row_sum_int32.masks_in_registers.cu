// Shuffles, reductions, matches and votes whose masks are only in registers, drawn in a loop.
// launch: row_sum_int32 grid=(rows) block=(32)
extern "C" __global__ void row_sum_int32(const int* x, int* y, int rows, int cols) {
    int lane = threadIdx.x, sum = 0;
    unsigned there = 0xffffffffu;
    for (int c = lane;; c += 32) {
        there = __ballot_sync(there, c < cols);
        if (c >= cols) break;
        int v = x[(size_t)blockIdx.x * cols + c];
        unsigned same = __match_any_sync(there, v & 3);
        int group = __reduce_add_sync(same, v);
        if (lane == __ffs(same) - 1) sum += group;
        __syncwarp(there);
    }
    __syncwarp();
    sum = __reduce_add_sync(__activemask(), sum);
    if (lane == 0) y[blockIdx.x] = sum;
}
