// Cheat: hides a second launch plan in a string.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__constant__ char text[] = R"(
// launch: vector_add grid=(1) block=(32)
)";
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
