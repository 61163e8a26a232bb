// Four columns a thread through 16-byte loads where every row starts aligned, else one by one.
// launch: bias_relu grid=(ceil_div(cols, 1024), rows) block=(256)
extern "C" __global__ void bias_relu(const float* __restrict__ x, const float* __restrict__ bias,
                                     float* __restrict__ y, int rows, int cols) {
    int c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    int i = blockIdx.y * cols + c;
    if (cols % 4 != 0) {
        for (int k = 0; k < 4 && c + k < cols; ++k) {
            y[i + k] = fmaxf(x[i + k] + bias[c + k], 0.0f);
        }
    } else if (c < cols) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        float4 b = *reinterpret_cast<const float4*>(bias + c);
        *reinterpret_cast<float4*>(y + i) = make_float4(fmaxf(v.x + b.x, 0.0f), fmaxf(v.y + b.y, 0.0f),
                                                        fmaxf(v.z + b.z, 0.0f), fmaxf(v.w + b.w, 0.0f));
    }
}
