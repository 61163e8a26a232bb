// An 18 x 18 tile of the input, with its border, in shared memory for 16 x 16 outputs: the border is tested
// when the tile is loaded and not for each of the nine products.
// launch: conv_bias_relu grid=(ceil_div(w, 16), ceil_div(h, 16), c_out) block=(16, 16)
extern "C" __global__ void conv_bias_relu(const float* __restrict__ x, const float* __restrict__ weight,
                                          const float* __restrict__ bias, float* __restrict__ y, int c_in,
                                          int c_out, int h, int w) {
    __shared__ float tile[18][18];
    int tx = threadIdx.x, ty = threadIdx.y;
    int top = blockIdx.y * 16, left = blockIdx.x * 16;
    float total = bias[blockIdx.z];
    for (int c = 0; c < c_in; ++c) {
        for (int place = ty * 16 + tx; place < 324; place += 256) {
            int a = top + place / 18 - 1, b = left + place % 18 - 1;
            bool inside = a >= 0 && a < h && b >= 0 && b < w;
            tile[place / 18][place % 18] = inside ? x[(c * h + a) * w + b] : 0.0f;
        }
        __syncthreads();
        const float* taps = weight + (blockIdx.z * c_in + c) * 9;
        for (int dy = 0; dy < 3; ++dy) {
            for (int dx = 0; dx < 3; ++dx) {
                total += tile[ty + dy][tx + dx] * taps[3 * dy + dx];
            }
        }
        __syncthreads();
    }
    if (top + ty < h && left + tx < w) {
        y[(blockIdx.z * h + top + ty) * w + left + tx] = fmaxf(total, 0.0f);
    }
}
