// One warp a group; mean and variance travel through shuffles.
// launch: group_norm grid=(ceil_div(batch * groups, 4)) block=(128)
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

extern "C" __global__ void group_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                      const float* __restrict__ bias, float* __restrict__ y, int batch,
                                      int groups, int channels, int length) {
    int lane = threadIdx.x % 32;
    int group = blockIdx.x * 4 + threadIdx.x / 32;
    if (group >= batch * groups) {
        return;
    }
    int count = channels * length;
    const float* source = x + group * count;
    float total = 0.0f;
    for (int e = lane; e < count; e += 32) {
        total += source[e];
    }
    float mean = warp_sum(total) / count;
    float squares = 0.0f;
    for (int e = lane; e < count; e += 32) {
        float d = source[e] - mean;
        squares += d * d;
    }
    float inverse = rsqrtf(warp_sum(squares) / count + 1e-5f);
    for (int c = 0; c < channels; ++c) {
        int channel = group % groups * channels + c;
        float scale = inverse * weight[channel];
        float shift = bias[channel];
        for (int t = lane; t < length; t += 32) {
            y[group * count + c * length + t] = (source[c * length + t] - mean) * scale + shift;
        }
    }
}
