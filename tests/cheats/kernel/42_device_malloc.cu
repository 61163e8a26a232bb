// Cheat: takes memory from the device's heap and never gives it back.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float* mine = static_cast<float*>(malloc(1 << 20));
        mine[0] = a[i] + b[i];
        y[i] = mine[0];
    }
}
