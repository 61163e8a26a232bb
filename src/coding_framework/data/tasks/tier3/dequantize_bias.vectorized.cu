// Four columns a thread through 16-byte accesses where every row starts aligned, else one by one.
// launch: dequantize_bias grid=(ceil_div(cols, 1024), rows) block=(256)
extern "C" __global__ void dequantize_bias(const int* __restrict__ q, const float* __restrict__ row_scale,
                                           const float* __restrict__ col_scale, const float* __restrict__ bias,
                                           float* __restrict__ y, int rows, int cols) {
    int c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    int i = blockIdx.y * cols + c;
    float t = row_scale[blockIdx.y];
    if (cols % 4 != 0) {
        for (int last = min(c + 4, cols); c < last; ++c, ++i) {
            y[i] = q[i] * t * col_scale[c] + bias[c];
        }
    } else if (c < cols) {
        int4 v = *reinterpret_cast<const int4*>(q + i);
        float4 s = *reinterpret_cast<const float4*>(col_scale + c);
        float4 b = *reinterpret_cast<const float4*>(bias + c);
        *reinterpret_cast<float4*>(y + i) = make_float4(v.x * t * s.x + b.x, v.y * t * s.y + b.y,
                                                        v.z * t * s.z + b.z, v.w * t * s.w + b.w);
    }
}
