// One block a row, kept in dynamic shared memory. Floats that are not negative order as their bits do, so
// the peak is found with integer maxima: a warp reduction, then one atomic a warp.
// launch: quantize_rows grid=(rows) block=(128) shared=4*cols
extern "C" __global__ void quantize_rows(const float* __restrict__ x, int* __restrict__ q,
                                         float* __restrict__ peak, int rows, int cols) {
    extern __shared__ float row[];
    __shared__ int largest;
    if (threadIdx.x == 0) {
        largest = 0;
    }
    __syncthreads();
    int bits = 0;
    for (int c = threadIdx.x; c < cols; c += 128) {
        row[c] = x[blockIdx.x * cols + c];
        bits = max(bits, __float_as_int(fabsf(row[c])));
    }
    bits = __reduce_max_sync(0xffffffff, bits);
    if (threadIdx.x % 32 == 0) {
        atomicMax(&largest, bits);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        peak[blockIdx.x] = __int_as_float(largest);
    }
    float power = __int_as_float((268 - (largest >> 23)) << 23);
    for (int c = threadIdx.x; c < cols; c += 128) {
        q[blockIdx.x * cols + c] = min(__float2int_rn(row[c] * power), 32767);
    }
}
