// One block a group, kept in dynamic shared memory so that global memory is read once; four warps reduce
// by shuffles and meet in shared memory.
// launch: group_norm grid=(groups, batch) block=(128) shared=4*channels*length
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

extern "C" __global__ void group_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                      const float* __restrict__ bias, float* __restrict__ y, int batch,
                                      int groups, int channels, int length) {
    extern __shared__ float kept[];
    __shared__ float sums[4];
    __shared__ float squares[4];
    int count = channels * length;
    int first = (blockIdx.y * groups + blockIdx.x) * count;
    float total = 0.0f;
    for (int e = threadIdx.x; e < count; e += 128) {
        kept[e] = x[first + e];
        total += kept[e];
    }
    float mean = block_sum(total, sums) / count;
    float spread = 0.0f;
    for (int e = threadIdx.x; e < count; e += 128) {
        float d = kept[e] - mean;
        spread += d * d;
    }
    float inverse = rsqrtf(block_sum(spread, squares) / count + 1e-5f);
    for (int e = threadIdx.x; e < count; e += 128) {
        int channel = blockIdx.x * channels + e / length;
        y[first + e] = (kept[e] - mean) * inverse * weight[channel] + bias[channel];
    }
}
