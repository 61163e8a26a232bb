// A block of 8 x 32 threads takes 8 columns; 32 threads share a column and meet in shared memory.
// launch: batch_norm_relu grid=(ceil_div(cols, 8)) block=(8, 32)
__device__ float column_sum(float value, float (*sums)[8]) {
    sums[threadIdx.y][threadIdx.x] = value;
    for (int half = 16; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half) {
            sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
        }
    }
    __syncthreads();
    float total = sums[0][threadIdx.x];
    __syncthreads();
    return total;
}

extern "C" __global__ void batch_norm_relu(const float* __restrict__ x, const float* __restrict__ weight,
                                           const float* __restrict__ bias, float* __restrict__ y, int rows,
                                           int cols) {
    __shared__ float sums[32][8];
    int c = blockIdx.x * 8 + threadIdx.x;
    int last = c < cols ? rows : 0;
    float total = 0.0f;
    for (int r = threadIdx.y; r < last; r += 32) {
        total += x[r * cols + c];
    }
    float mean = column_sum(total, sums) / rows;
    float squares = 0.0f;
    for (int r = threadIdx.y; r < last; r += 32) {
        float d = x[r * cols + c] - mean;
        squares += d * d;
    }
    float inverse = rsqrtf(column_sum(squares, sums) / rows + 1e-5f);
    for (int r = threadIdx.y; r < last; r += 32) {
        y[r * cols + c] = fmaxf((x[r * cols + c] - mean) * inverse * weight[c] + bias[c], 0.0f);
    }
}
