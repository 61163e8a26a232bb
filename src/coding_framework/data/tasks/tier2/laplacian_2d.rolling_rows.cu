// A thread walks down four cells of a column and keeps the cells above and below in registers.
// launch: laplacian_2d grid=(ceil_div(width, 128), ceil_div(height, 4)) block=(128)
extern "C" __global__ void laplacian_2d(const float* __restrict__ x, float* __restrict__ y, int height,
                                        int width) {
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= width) {
        return;
    }
    int first = blockIdx.y * 4;
    float above = first > 0 ? x[(first - 1) * width + c] : 0.0f;
    float here = x[first * width + c];
    for (int r = first; r < min(first + 4, height); ++r) {
        float below = r + 1 < height ? x[(r + 1) * width + c] : 0.0f;
        float left = c > 0 ? x[r * width + c - 1] : 0.0f;
        float right = c + 1 < width ? x[r * width + c + 1] : 0.0f;
        y[r * width + c] = above + below + left + right - 4.0f * here;
        above = here;
        here = below;
    }
}
