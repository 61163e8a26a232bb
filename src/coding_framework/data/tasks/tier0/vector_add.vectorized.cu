// Four elements a thread through 16-byte loads; the last n % 4 elements one by one.
// launch: vector_add grid=(ceil_div(n, 1024)) block=(256)
extern "C" __global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        float4 u = *reinterpret_cast<const float4*>(a + start);
        float4 v = *reinterpret_cast<const float4*>(b + start);
        float4 sum = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
        *reinterpret_cast<float4*>(y + start) = sum;
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = a[i] + b[i];
        }
    }
}
