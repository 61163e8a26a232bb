// A thread walks through eight planes at one place; the cells before and behind wait in registers.
// launch: heat_step_3d grid=(ceil_div(width, 32), ceil_div(height, 4), ceil_div(depth, 8)) block=(32, 4)
extern "C" __global__ void heat_step_3d(const float* __restrict__ x, float* __restrict__ y, int depth,
                                        int height, int width) {
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 4 + threadIdx.y;
    if (r >= height || c >= width) {
        return;
    }
    int plane = height * width, first = blockIdx.z * 8;
    int i = first * plane + r * width + c;
    float before = first > 0 ? x[i - plane] : 0.0f;
    float here = x[i];
    for (int z = first; z < min(first + 8, depth); ++z) {
        float behind = z + 1 < depth ? x[i + plane] : 0.0f;
        float around = before + behind;
        around += r > 0 ? x[i - width] : 0.0f;
        around += r + 1 < height ? x[i + width] : 0.0f;
        around += c > 0 ? x[i - 1] : 0.0f;
        around += c + 1 < width ? x[i + 1] : 0.0f;
        y[i] = here + 0.125f * (around - 6.0f * here);
        before = here;
        here = behind;
        i += plane;
    }
}
