// Cheat: jumps to an address of its own making.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        auto wild = reinterpret_cast<float (*)(float, float)>(0x1234560ull);
        y[i] = wild(a[i], b[i]);
    }
}
