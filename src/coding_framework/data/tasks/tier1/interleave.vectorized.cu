// Four pairs a thread: two loads and two stores of 16 bytes; the last n % 4 pairs one by one.
// launch: interleave grid=(ceil_div(n, 512)) block=(128)
extern "C" __global__ void interleave(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 u = *reinterpret_cast<const float4*>(a + start);
        float4 v = *reinterpret_cast<const float4*>(b + start);
        float4* target = reinterpret_cast<float4*>(y + 2 * start);
        target[0] = make_float4(u.x, v.x, u.y, v.y);
        target[1] = make_float4(u.z, v.z, u.w, v.w);
    } else {
        for (int i = start; i < n; ++i) {
            y[2 * i] = a[i];
            y[2 * i + 1] = b[i];
        }
    }
}
