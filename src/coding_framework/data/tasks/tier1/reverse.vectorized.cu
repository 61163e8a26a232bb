// Where four divides n, four elements are loaded, turned around and stored at once; else one by one.
// launch: reverse grid=(ceil_div(n, 1024)) block=(256)
extern "C" __global__ void reverse(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (n % 4 == 0 && start < n) {
        float4 v = *reinterpret_cast<const float4*>(x + n - 4 - start);
        *reinterpret_cast<float4*>(y + start) = make_float4(v.w, v.z, v.y, v.x);
    } else {
        for (int i = start; i < min(start + 4, n); ++i) {
            y[i] = x[n - 1 - i];
        }
    }
}
