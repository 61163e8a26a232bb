// One warp a row: every lane finds its own best, then pairs of lanes agree; of equals the smaller
// column wins.
// launch: row_argmax grid=(ceil_div(rows, 8)) block=(256)
extern "C" __global__ void row_argmax(const float* __restrict__ x, float* __restrict__ largest,
                                      int* __restrict__ position, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 8 + threadIdx.x / 32;
    if (r < rows) {
        float best = x[r * cols];
        int where = 0;
        for (int c = lane; c < cols; c += 32) {
            float v = x[r * cols + c];
            if (v > best) {
                best = v;
                where = c;
            }
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            float other = __shfl_xor_sync(0xffffffff, best, offset);
            int there = __shfl_xor_sync(0xffffffff, where, offset);
            if (other > best || (other == best && there < where)) {
                best = other;
                where = there;
            }
        }
        if (lane == 0) {
            largest[r] = best;
            position[r] = where;
        }
    }
}
