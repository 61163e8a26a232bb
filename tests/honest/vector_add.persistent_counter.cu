// A work queue: blocks fetch the next chunk from an integer counter that the first launch clears.
// scratch: next int32[1]
// launch: reset grid=(1) block=(1) args=(next)
// launch: vector_add grid=(min(264, ceil_div(n, 1024))) block=(256) args=(a, b, y, next, n)
extern "C" __global__ void reset(int* next) {
    *next = 0;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int* next, int n) {
    __shared__ int chunk;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) {
            chunk = atomicAdd(next, 1);
        }
        __syncthreads();
        if (chunk * 1024 >= n) {
            return;
        }
        for (int i = chunk * 1024 + threadIdx.x; i < min(n, chunk * 1024 + 1024); i += 256) {
            y[i] = a[i] + b[i];
        }
    }
}
