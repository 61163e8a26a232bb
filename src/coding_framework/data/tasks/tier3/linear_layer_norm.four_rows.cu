// Four rows a block: each value of w that is read serves four sums in registers; then a warp norms a row.
// launch: linear_layer_norm grid=(ceil_div(rows, 4)) block=(32, 4) shared=16*(cols + k)
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

extern "C" __global__ void linear_layer_norm(const float* __restrict__ x, const float* __restrict__ w,
                                             const float* __restrict__ bias, float* __restrict__ y, int rows,
                                             int cols, int k) {
    extern __shared__ float4 source[];
    float* sums = reinterpret_cast<float*>(source + k);
    int r = blockIdx.x * 4 + threadIdx.y;
    for (int p = threadIdx.x; p < k; p += 32) {
        reinterpret_cast<float*>(source + p)[threadIdx.y] = r < rows ? x[r * k + p] : 0.0f;
    }
    __syncthreads();
    for (int c = threadIdx.y * 32 + threadIdx.x; c < cols; c += 128) {
        float4 z = make_float4(bias[c], bias[c], bias[c], bias[c]);
        for (int p = 0; p < k; ++p) {
            float4 u = source[p];
            float v = w[p * cols + c];
            z.x += u.x * v;
            z.y += u.y * v;
            z.z += u.z * v;
            z.w += u.w * v;
        }
        sums[c] = z.x;
        sums[cols + c] = z.y;
        sums[2 * cols + c] = z.z;
        sums[3 * cols + c] = z.w;
    }
    __syncthreads();
    const float* row = sums + threadIdx.y * cols;
    float total = 0.0f, spread = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        total += row[c];
    }
    float mean = warp_sum(total) / cols;
    for (int c = threadIdx.x; c < cols; c += 32) {
        spread += (row[c] - mean) * (row[c] - mean);
    }
    float inverse = rsqrtf(warp_sum(spread) / cols + 1e-3f);
    for (int c = threadIdx.x; c < cols && r < rows; c += 32) {
        y[r * cols + c] = (row[c] - mean) * inverse;
    }
}
