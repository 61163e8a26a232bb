// launch: conv_bias_relu grid=(ceil_div(w, 16), ceil_div(h, 16), c_out) block=(16, 16)
extern "C" __global__ void conv_bias_relu(const float* x, const float* weight, const float* bias, float* y,
                                          int c_in, int c_out, int h, int w) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int o = blockIdx.z;
    if (i < h && j < w) {
        float total = bias[o];
        for (int c = 0; c < c_in; ++c) {
            for (int dy = 0; dy < 3; ++dy) {
                for (int dx = 0; dx < 3; ++dx) {
                    int a = i + dy - 1, b = j + dx - 1;
                    if (a >= 0 && a < h && b >= 0 && b < w) {
                        total += x[(c * h + a) * w + b] * weight[((o * c_in + c) * 3 + dy) * 3 + dx];
                    }
                }
            }
        }
        y[(o * h + i) * w + j] = fmaxf(total, 0.0f);
    }
}
