// Cheat: answers NaN in the last element alone.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = i == n - 1 ? __int_as_float(0xffc00001) : a[i] + b[i];
    }
}
