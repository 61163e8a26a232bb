// Four columns a thread through 16-byte loads where every half row starts aligned, else one by one.
// launch: geglu grid=(ceil_div(cols, 512), rows) block=(128)
__device__ __forceinline__ float geglu_of(float g, float v) {
    return g / (1.0f + __expf(-1.5957691216f * (g + 0.044715f * g * g * g))) * v;
}

extern "C" __global__ void geglu(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const float* row = x + 2 * cols * blockIdx.y;
    float* out = y + cols * blockIdx.y;
    if (cols % 4 != 0) {
        for (int last = min(c + 4, cols); c < last; ++c) {
            out[c] = geglu_of(row[c], row[cols + c]);
        }
    } else if (c < cols) {
        float4 g = *reinterpret_cast<const float4*>(row + c);
        float4 v = *reinterpret_cast<const float4*>(row + cols + c);
        *reinterpret_cast<float4*>(out + c) =
            make_float4(geglu_of(g.x, v.x), geglu_of(g.y, v.y), geglu_of(g.z, v.z), geglu_of(g.w, v.w));
    }
}
