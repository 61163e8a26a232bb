// One block a row: w is read along its rows, the row of results stays in dynamic shared memory.
// launch: linear_layer_norm grid=(rows) block=(128) shared=4*(cols + k)
__device__ float block_sum(float value, float* sums) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    return sums[0] + sums[1] + sums[2] + sums[3];
}

extern "C" __global__ void linear_layer_norm(const float* __restrict__ x, const float* __restrict__ w,
                                             const float* __restrict__ bias, float* __restrict__ y, int rows,
                                             int cols, int k) {
    extern __shared__ float row[];
    __shared__ float sums[4], squares[4];
    float* source = row + cols;
    for (int p = threadIdx.x; p < k; p += 128) {
        source[p] = x[blockIdx.x * k + p];
    }
    __syncthreads();
    float total = 0.0f, spread = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        float z = bias[c];
        for (int p = 0; p < k; ++p) {
            z += source[p] * w[p * cols + c];
        }
        row[c] = z;
        total += z;
    }
    float mean = block_sum(total, sums) / cols;
    for (int c = threadIdx.x; c < cols; c += 128) {
        spread += (row[c] - mean) * (row[c] - mean);
    }
    float inverse = rsqrtf(block_sum(spread, squares) / cols + 1e-3f);
    for (int c = threadIdx.x; c < cols; c += 128) {
        y[blockIdx.x * cols + c] = (row[c] - mean) * inverse;
    }
}
