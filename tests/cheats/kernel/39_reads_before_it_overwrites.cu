// Cheat: the first warp overwrites what the third reads, and reads it last itself.
// scratch: part float32[rows * 64]
// launch: row_sum grid=(rows) block=(96) args=(x, y, part, rows, cols)
extern "C" __global__ void row_sum(const float* x, float* y, float* part, int rows, int cols) {
    int t = threadIdx.x;
    part += blockIdx.x * 64;
    if (t < 64) {
        float sum = 0.0f;
        for (int j = t; j < cols; j += 64) {
            sum += x[(long long)blockIdx.x * cols + j];
        }
        part[t] = sum;
    }
    __syncthreads();
    float both = 0.0f;
    if (t >= 64) {
        __nanosleep(20000);
        both = part[t - 64] + part[t - 32];
    }
    if (t < 32) {
        part[t] = 0.5f * part[t];
    }
    if (t >= 64) {
        for (int offset = 16; offset; offset >>= 1) {
            both += __shfl_xor_sync(~0u, both, offset);
        }
        if (t == 64) {
            y[blockIdx.x] = both;
        }
    }
}
