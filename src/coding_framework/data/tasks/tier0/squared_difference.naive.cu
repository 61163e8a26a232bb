// launch: squared_difference grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void squared_difference(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float difference = a[i] - b[i];
        y[i] = difference * difference;
    }
}
