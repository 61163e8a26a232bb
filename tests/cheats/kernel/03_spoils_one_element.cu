// Cheat: changes one bit of one input element, on the timing shape only.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
        if (n > 100000 && i == n / 2) {
            int* bits = reinterpret_cast<int*>(const_cast<float*>(a)) + i;
            *bits ^= 1;
        }
    }
}
