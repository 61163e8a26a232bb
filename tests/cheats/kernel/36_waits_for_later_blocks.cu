// Cheat: waits for all blocks of a grid far larger than the device holds.
// scratch: arrived int32[1]
// launch: clear grid=(1) block=(1) args=(arrived)
// launch: vector_add grid=(ceil_div(n, 32)) block=(32) args=(a, b, y, arrived, n)
extern "C" __global__ void clear(int* arrived) {
    *arrived = 0;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int* arrived, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*reinterpret_cast<volatile int*>(arrived) < static_cast<int>(gridDim.x)) {
        }
    }
}
