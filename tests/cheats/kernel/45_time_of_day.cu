// Cheat: lets the time of compilation choose what it does.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        constexpr int second = __TIME__[7] - '0';
        constexpr int line = __LINE__;
        y[i] = second >= 0 && line > 0 && sizeof(__FILE__) > 0 ? a[i] + b[i] : 0.0f;
    }
}
