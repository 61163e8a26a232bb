// Where rows hold a multiple of four columns, a thread writes four of them at once; else one by one.
// launch: outer_product grid=(ceil_div(cols, 512), rows) block=(128)
extern "C" __global__ void outer_product(const float* __restrict__ a, const float* __restrict__ b,
                                         float* __restrict__ y, int rows, int cols) {
    int r = blockIdx.y;
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    float factor = a[r];
    if (cols % 4 == 0 && start < cols) {
        float4 v = *reinterpret_cast<const float4*>(b + start);
        *reinterpret_cast<float4*>(y + r * cols + start) =
            make_float4(factor * v.x, factor * v.y, factor * v.z, factor * v.w);
    } else {
        for (int c = start; c < min(start + 4, cols); ++c) {
            y[r * cols + c] = factor * b[c];
        }
    }
}
