// Four numbers a thread through 16-byte loads; the last n % 4 numbers one by one.
// launch: complex_multiply grid=(ceil_div(n, 512)) block=(128)
extern "C" __global__ void complex_multiply(const float* __restrict__ a_real,
                                            const float* __restrict__ a_imag,
                                            const float* __restrict__ b_real, const float* __restrict__ b_imag,
                                            float* __restrict__ y_real, float* __restrict__ y_imag, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 p = *reinterpret_cast<const float4*>(a_real + start);
        float4 q = *reinterpret_cast<const float4*>(a_imag + start);
        float4 r = *reinterpret_cast<const float4*>(b_real + start);
        float4 s = *reinterpret_cast<const float4*>(b_imag + start);
        *reinterpret_cast<float4*>(y_real + start) = make_float4(
            p.x * r.x - q.x * s.x, p.y * r.y - q.y * s.y, p.z * r.z - q.z * s.z, p.w * r.w - q.w * s.w);
        *reinterpret_cast<float4*>(y_imag + start) = make_float4(
            p.x * s.x + q.x * r.x, p.y * s.y + q.y * r.y, p.z * s.z + q.z * r.z, p.w * s.w + q.w * r.w);
    } else {
        for (int i = start; i < n; ++i) {
            y_real[i] = a_real[i] * b_real[i] - a_imag[i] * b_imag[i];
            y_imag[i] = a_real[i] * b_imag[i] + a_imag[i] * b_real[i];
        }
    }
}
