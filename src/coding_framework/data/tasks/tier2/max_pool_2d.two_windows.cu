// Two neighbouring windows a thread. Where four divides width, the rows of both are one float4 and the
// results one float2; else value by value, an edge read twice instead of a branch.
// launch: max_pool_2d grid=(ceil_div(width, 128), ceil_div(height, 8), planes) block=(32, 4)
extern "C" __global__ void max_pool_2d(const float* __restrict__ x, float* __restrict__ y, int planes,
                                       int height, int width) {
    int c = blockIdx.x * 64 + 2 * threadIdx.x;
    int r = blockIdx.y * 4 + threadIdx.y;
    int rows = (height + 1) / 2, cols = (width + 1) / 2;
    if (r >= rows || c >= cols) {
        return;
    }
    const float* upper = x + (blockIdx.z * height + 2 * r) * width;
    const float* lower = 2 * r + 1 < height ? upper + width : upper;
    float* target = y + (blockIdx.z * rows + r) * cols + c;
    if (width % 4 == 0) {
        float4 a = *reinterpret_cast<const float4*>(upper + 2 * c);
        float4 b = *reinterpret_cast<const float4*>(lower + 2 * c);
        *reinterpret_cast<float2*>(target) =
            make_float2(fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y)), fmaxf(fmaxf(a.z, a.w), fmaxf(b.z, b.w)));
        return;
    }
    for (int q = 0; q < 2 && c + q < cols; ++q) {
        int left = 2 * (c + q), right = min(left + 1, width - 1);
        target[q] = fmaxf(fmaxf(upper[left], upper[right]), fmaxf(lower[left], lower[right]));
    }
}
