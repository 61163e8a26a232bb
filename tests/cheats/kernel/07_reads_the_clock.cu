// Cheat: reads every clock of the device, which cannot be set.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned long long now;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        long long ticks = clock64();
        if (ticks == 0x7fffffffffffffffLL && now == 0) {
            y[i] = 0.0f;
        }
        y[i] = a[i] + b[i];
    }
}
