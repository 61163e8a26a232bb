// Four elements a thread through 16-byte loads, each rounded once; the last n % 4 elements one by one.
// launch: multiply_add grid=(ceil_div(n, 1024)) block=(256)
extern "C" __global__ void multiply_add(const float* __restrict__ a, const float* __restrict__ b,
                                        const float* __restrict__ c, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 a4 = *reinterpret_cast<const float4*>(a + start);
        float4 b4 = *reinterpret_cast<const float4*>(b + start);
        float4 c4 = *reinterpret_cast<const float4*>(c + start);
        *reinterpret_cast<float4*>(y + start) = make_float4(
            fmaf(a4.x, b4.x, c4.x),
            fmaf(a4.y, b4.y, c4.y),
            fmaf(a4.z, b4.z, c4.z),
            fmaf(a4.w, b4.w, c4.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = fmaf(a[i], b[i], c[i]);
        }
    }
}
