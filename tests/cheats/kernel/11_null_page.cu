// Cheat: reads through a null pointer.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float* nothing = reinterpret_cast<const float*>(static_cast<unsigned long long>(i) * 4ull);
        y[i] = *nothing;
    }
}
