// Cheat: leaves a barrier out on the timing shape only.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    __shared__ float passed_on[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    int mirrored = 255 - threadIdx.x;
    if (n > 100000) {
        passed_on[mirrored] = 0.0f;
        if (threadIdx.x >= 128) {
            __nanosleep(1000);
        }
    }
    passed_on[threadIdx.x] = i < n ? a[i] + b[i] : 0.0f;
    if (n < 100000) {
        __syncthreads();
    }
    float value = passed_on[mirrored];
    int target = blockIdx.x * 256 + mirrored;
    if (target < n) {
        y[target] = value;
    }
}
