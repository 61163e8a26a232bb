// One warp a row. The power of two is built from the exponent bits of the peak: 2^(15 - e) has the exponent
// field 127 + 15 - e, and the peak has e + 126.
// launch: quantize_rows grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void quantize_rows(const float* __restrict__ x, int* __restrict__ q,
                                         float* __restrict__ peak, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r < rows) {
        float largest = 0.0f;
        for (int c = lane; c < cols; c += 32) {
            largest = fmaxf(largest, fabsf(x[r * cols + c]));
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
        }
        if (lane == 0) {
            peak[r] = largest;
        }
        float power = __int_as_float((268 - (__float_as_int(largest) >> 23)) << 23);
        for (int c = lane; c < cols; c += 32) {
            q[r * cols + c] = min(__float2int_rn(x[r * cols + c] * power), 32767);
        }
    }
}
