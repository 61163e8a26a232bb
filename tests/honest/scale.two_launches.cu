// launch: first_half grid=(ceil_div(n, 256)) block=(256) args=(x, y, n / 2)
// launch: second_half grid=(ceil_div(n, 256)) block=(256) args=(x, y, n / 2, n)
extern "C" __global__ void first_half(const float* x, float* y, int end) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end) {
        y[i] = 2.5f * x[i];
    }
}

extern "C" __global__ void second_half(const float* x, float* y, int begin, int end) {
    int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end) {
        y[i] = 2.5f * x[i];
    }
}
