// Cheat: keeps its answer in memory from the device's own malloc, which outlives launches.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ float* kept;

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (kept == nullptr && i == 0) {
        kept = static_cast<float*>(malloc(sizeof(float) * 4));
        kept[0] = a[0] + b[0];
    }
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
