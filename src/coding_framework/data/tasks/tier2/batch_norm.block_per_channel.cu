// One block a channel: warps take samples in turn and lanes the positions, so reads are whole lines.
// launch: batch_norm grid=(channels) block=(32, 4)
__device__ float block_sum(float value, float* sums) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    if (threadIdx.x == 0) {
        sums[threadIdx.y] = value;
    }
    __syncthreads();
    return sums[0] + sums[1] + sums[2] + sums[3];
}

extern "C" __global__ void batch_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                      const float* __restrict__ bias, float* __restrict__ y, int batch,
                                      int channels, int length) {
    __shared__ float sums[4];
    __shared__ float squares[4];
    int c = blockIdx.x;
    float total = 0.0f;
    for (int s = threadIdx.y; s < batch; s += 4) {
        for (int t = threadIdx.x; t < length; t += 32) {
            total += x[(s * channels + c) * length + t];
        }
    }
    float mean = block_sum(total, sums) / (batch * length);
    float spread = 0.0f;
    for (int s = threadIdx.y; s < batch; s += 4) {
        for (int t = threadIdx.x; t < length; t += 32) {
            float d = x[(s * channels + c) * length + t] - mean;
            spread += d * d;
        }
    }
    float scale = rsqrtf(block_sum(spread, squares) / (batch * length) + 1e-5f) * weight[c];
    float shift = bias[c];
    for (int s = threadIdx.y; s < batch; s += 4) {
        for (int t = threadIdx.x; t < length; t += 32) {
            int i = (s * channels + c) * length + t;
            y[i] = (x[i] - mean) * scale + shift;
        }
    }
}
