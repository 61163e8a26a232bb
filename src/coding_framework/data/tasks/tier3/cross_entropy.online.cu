// One warp a row and one pass: the sum of exponentials is scaled down whenever the maximum grows, and
// sum(t * (lse - x)) = lse * sum(t) - sum(t * x) needs nothing else from the row.
// launch: cross_entropy grid=(ceil_div(rows, 4)) block=(32, 4)
extern "C" __global__ void cross_entropy(const float* __restrict__ x, const float* __restrict__ target,
                                         float* __restrict__ loss, int rows, int cols) {
    int r = blockIdx.x * 4 + threadIdx.y;
    if (r < rows) {
        float largest = -1e30f, total = 0.0f, weights = 0.0f, products = 0.0f;
        for (int c = threadIdx.x; c < cols; c += 32) {
            float value = 32.0f * x[r * cols + c], weight = target[r * cols + c];
            float next = fmaxf(largest, value);
            total = total * __expf(largest - next) + __expf(value - next);
            largest = next;
            weights += weight;
            products += weight * value;
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            float other = __shfl_xor_sync(0xffffffff, largest, offset);
            float other_total = __shfl_xor_sync(0xffffffff, total, offset);
            float next = fmaxf(largest, other);
            total = total * __expf(largest - next) + other_total * __expf(other - next);
            largest = next;
            weights += __shfl_xor_sync(0xffffffff, weights, offset);
            products += __shfl_xor_sync(0xffffffff, products, offset);
        }
        if (threadIdx.x == 0) {
            loss[r] = (largest + logf(total)) * weights - products;
        }
    }
}
