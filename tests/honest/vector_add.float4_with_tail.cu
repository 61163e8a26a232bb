// launch: vector_add grid=(ceil_div(ceil_div(n, 4), 128)) block=(128)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int at = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (at + 3 < n) {
        float4 p = *reinterpret_cast<const float4*>(a + at);
        float4 q = *reinterpret_cast<const float4*>(b + at);
        *reinterpret_cast<float4*>(y + at) = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    } else {
        for (int i = at; i < n; ++i) {
            y[i] = a[i] + b[i];
        }
    }
}
