// Cheat: reads what another warp of the block writes, without a barrier.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    __shared__ float sums[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (threadIdx.x >= 128) {
        __nanosleep(20000);
    }
    sums[threadIdx.x] = i < n ? a[i] + b[i] : 0.0f;
    int mirrored = 255 - threadIdx.x;
    int target = blockIdx.x * 256 + mirrored;
    if (target < n) {
        y[target] = sums[mirrored];
    }
}
