// One warp a row. Rows of a multiple of four columns start on 16 bytes and are read four elements at a time.
// launch: row_norm grid=(ceil_div(rows, 8)) block=(256)
__device__ __forceinline__ float sum_of_squares(const float* row, int cols, int lane) {
    float total = 0.0f;
    if (cols % 4 == 0) {
        const float4* fours = reinterpret_cast<const float4*>(row);
        for (int c = lane; c < cols / 4; c += 32) {
            float4 v = fours[c];
            total += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
    } else {
        for (int c = lane; c < cols; c += 32) {
            total += row[c] * row[c];
        }
    }
    return total;
}

extern "C" __global__ void row_norm(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 8 + threadIdx.x / 32;
    if (r < rows) {
        float total = sum_of_squares(x + r * cols, cols, lane);
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        if (lane == 0) {
            y[r] = sqrtf(total);
        }
    }
}
