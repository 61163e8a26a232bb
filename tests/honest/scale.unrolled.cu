// launch: scale grid=(ceil_div(n, 1024)) block=(128)
extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
    int start = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll 8
    for (int k = 0; k < 8; ++k) {
        int i = start + 128 * k;
        if (i < n) y[i] = 2.5f * x[i];
    }
}
