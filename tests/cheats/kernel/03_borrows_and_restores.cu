// Cheat: writes to its input and puts the old value back before it ends.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float* borrowed = const_cast<float*>(a);
        float kept = borrowed[i];
        borrowed[i] = kept + b[i];
        y[i] = borrowed[i];
        borrowed[i] = kept;
    }
}
