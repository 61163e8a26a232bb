// Cheat: computes the right answer into scratch and never hands it over.
// scratch: aside float32[n]
// launch: vector_add grid=(ceil_div(n, 256)) block=(256) args=(a, b, aside, n)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
