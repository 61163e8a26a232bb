// The first launch leaves mean and scale of every channel, one block of four warps each; the second
// applies them with one thread an element.
// scratch: means float32[channels]
// scratch: scales float32[channels]
// launch: channel_statistics grid=(channels) block=(128) args=(x, weight, means, scales, batch, channels, length)
// launch: channel_apply grid=(ceil_div(batch * channels * length, 256)) block=(256) args=(x, means, scales, bias, y, batch, channels, length)
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

extern "C" __global__ void channel_statistics(const float* __restrict__ x, const float* __restrict__ weight,
                                              float* __restrict__ means, float* __restrict__ scales,
                                              int batch, int channels, int length) {
    __shared__ float sums[4];
    __shared__ float squares[4];
    int c = blockIdx.x, count = batch * length;
    float total = 0.0f;
    for (int e = threadIdx.x; e < count; e += 128) {
        total += x[(e / length * channels + c) * length + e % length];
    }
    float mean = block_sum(total, sums) / count;
    float spread = 0.0f;
    for (int e = threadIdx.x; e < count; e += 128) {
        float d = x[(e / length * channels + c) * length + e % length] - mean;
        spread += d * d;
    }
    float variance = block_sum(spread, squares) / count;
    if (threadIdx.x == 0) {
        means[c] = mean;
        scales[c] = rsqrtf(variance + 1e-5f) * weight[c];
    }
}

extern "C" __global__ void channel_apply(const float* __restrict__ x, const float* __restrict__ means,
                                         const float* __restrict__ scales, const float* __restrict__ bias,
                                         float* __restrict__ y, int batch, int channels, int length) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < batch * channels * length) {
        int c = i / length % channels;
        y[i] = (x[i] - means[c]) * scales[c] + bias[c];
    }
}
