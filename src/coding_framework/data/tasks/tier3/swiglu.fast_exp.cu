// The hardware's exponential and quotient instead of the exact ones, two elements a thread.
// launch: swiglu grid=(ceil_div(n, 512)) block=(256)
extern "C" __global__ void swiglu(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ y, int n) {
    int first = blockIdx.x * 512 + threadIdx.x;
    for (int i = first; i < n && i < first + 512; i += 256) {
        float u = a[i];
        y[i] = __fdividef(u, 1.0f + __expf(-u)) * b[i];
    }
}
