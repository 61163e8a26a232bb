// Cheat: reads one element too far, and only where n is odd.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
        if (n % 2 == 1 && i == n - 1 && a[n] == 12345.678f) {
            y[i] = 0.0f;
        }
    }
}
