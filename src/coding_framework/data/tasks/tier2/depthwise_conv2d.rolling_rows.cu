// A thread walks down eight pixels of a column. Each input row that it reads is weighed at once for the
// three outputs that need it, so every input is read three times instead of nine.
// launch: depthwise_conv2d grid=(ceil_div(width, 64), ceil_div(height, 8), channels) block=(64)
extern "C" __global__ void depthwise_conv2d(const float* __restrict__ x, const float* __restrict__ weight,
                                            float* __restrict__ y, int channels, int height, int width) {
    int c = blockIdx.x * 64 + threadIdx.x;
    int q = blockIdx.z;
    if (c >= width) {
        return;
    }
    float w[9];
    for (int e = 0; e < 9; ++e) {
        w[e] = weight[q * 9 + e];
    }
    const float* plane = x + q * height * width;
    int first = blockIdx.y * 8;
    float upper = 0.0f, middle = 0.0f;
    for (int row = first - 1; row <= first + 8 && row <= height; ++row) {
        bool inside = row >= 0 && row < height;
        float left = inside && c > 0 ? plane[row * width + c - 1] : 0.0f;
        float centre = inside ? plane[row * width + c] : 0.0f;
        float right = inside && c + 1 < width ? plane[row * width + c + 1] : 0.0f;
        float done = upper + w[6] * left + w[7] * centre + w[8] * right;
        if (row > first) {
            y[(q * height + row - 1) * width + c] = done;
        }
        upper = middle + w[3] * left + w[4] * centre + w[5] * right;
        middle = w[0] * left + w[1] * centre + w[2] * right;
    }
}
