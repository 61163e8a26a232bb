// Cheat: reads float4 from odd addresses.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 5 < n) {
        float4 p = *reinterpret_cast<const float4*>(a + i + 1);
        y[i] = p.x + p.y + p.z + p.w + b[i];
    }
}
