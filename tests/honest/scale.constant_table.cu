// launch: scale grid=(ceil_div(n, 256)) block=(256)
__constant__ float factors[4] = {2.5f, 2.5f, 2.5f, 2.5f};

extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = factors[i & 3] * x[i];
    }
}
