// Cheat: reads an address of the lower half, where no memory can be.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float* nowhere = reinterpret_cast<const float*>(0x8000000000000000ull);
        y[i] = a[i] + b[i] + nowhere[i];
    }
}
