// Each thread keeps the nine inputs of its place in registers and makes four output channels from them.
// launch: conv_bias_relu grid=(ceil_div(w, 32), ceil_div(h, 4), ceil_div(c_out, 4)) block=(32, 4)
extern "C" __global__ void conv_bias_relu(const float* __restrict__ x, const float* __restrict__ weight,
                                          const float* __restrict__ bias, float* __restrict__ y, int c_in,
                                          int c_out, int h, int w) {
    int j = blockIdx.x * 32 + threadIdx.x;
    int i = blockIdx.y * 4 + threadIdx.y;
    int first = blockIdx.z * 4, count = min(4, c_out - first);
    if (i >= h || j >= w) {
        return;
    }
    float total[4] = {};
    for (int c = 0; c < c_in; ++c) {
        float window[9];
        for (int tap = 0; tap < 9; ++tap) {
            int a = i + tap / 3 - 1, b = j + tap % 3 - 1;
            bool inside = a >= 0 && a < h && b >= 0 && b < w;
            window[tap] = inside ? x[(c * h + a) * w + b] : 0.0f;
        }
        #pragma unroll
        for (int o = 0; o < 4; ++o) {
            if (o < count) {
                const float* taps = weight + ((first + o) * c_in + c) * 9;
                for (int tap = 0; tap < 9; ++tap) {
                    total[o] += window[tap] * taps[tap];
                }
            }
        }
    }
    #pragma unroll
    for (int o = 0; o < 4; ++o) {
        if (o < count) {
            y[((first + o) * h + i) * w + j] = fmaxf(total[o] + bias[first + o], 0.0f);
        }
    }
}
