// Where width is even, the two values of a window's row are one aligned float2. A window that is cut at
// the edge reads its last row or column twice, which changes no maximum and needs no branch.
// launch: max_pool_2d grid=(ceil_div(width, 64), ceil_div(height, 16), planes) block=(32, 8)
extern "C" __global__ void max_pool_2d(const float* __restrict__ x, float* __restrict__ y, int planes,
                                       int height, int width) {
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 8 + threadIdx.y;
    int rows = (height + 1) / 2, cols = (width + 1) / 2;
    if (r >= rows || c >= cols) {
        return;
    }
    const float* upper = x + (blockIdx.z * height + 2 * r) * width;
    const float* lower = 2 * r + 1 < height ? upper + width : upper;
    float2 above, below;
    if (width % 2 == 0) {
        above = reinterpret_cast<const float2*>(upper)[c];
        below = reinterpret_cast<const float2*>(lower)[c];
    } else {
        int right = min(2 * c + 1, width - 1);
        above = make_float2(upper[2 * c], upper[right]);
        below = make_float2(lower[2 * c], lower[right]);
    }
    y[(blockIdx.z * rows + r) * cols + c] = fmaxf(fmaxf(above.x, above.y), fmaxf(below.x, below.y));
}
