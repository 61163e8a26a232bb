// One warp a row, maximum and sum in one pass: the sum is scaled down whenever the maximum grows.
// launch: masked_softmax grid=(ceil_div(rows, 4)) block=(32, 4)
extern "C" __global__ void masked_softmax(const float* __restrict__ x, const float* __restrict__ mask,
                                          float* __restrict__ y, int rows, int cols) {
    int r = blockIdx.x * 4 + threadIdx.y;
    if (r < rows) {
        float largest = -1e30f, total = 0.0f;
        for (int c = threadIdx.x; c < cols; c += 32) {
            if (mask[r * cols + c] > 0.0f) {
                float value = 0.5f * x[r * cols + c];
                float next = fmaxf(largest, value);
                total = total * __expf(largest - next) + __expf(value - next);
                largest = next;
            }
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            float other = __shfl_xor_sync(0xffffffff, largest, offset);
            float other_total = __shfl_xor_sync(0xffffffff, total, offset);
            float next = fmaxf(largest, other);
            total = total * __expf(largest - next) + other_total * __expf(other - next);
            largest = next;
        }
        float inverse = 1.0f / total;
        for (int c = threadIdx.x; c < cols; c += 32) {
            bool kept = mask[r * cols + c] > 0.0f;
            y[r * cols + c] = kept ? __expf(0.5f * x[r * cols + c] - largest) * inverse : 0.0f;
        }
    }
}
