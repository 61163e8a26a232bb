// Cheat: reads an address of its own choosing.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float* guess = reinterpret_cast<const float*>(0x7f0000000000ull);
        y[i] = guess[i];
    }
}
