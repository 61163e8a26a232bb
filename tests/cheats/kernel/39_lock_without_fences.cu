// Cheat: a lock in shared memory without fences, so that the sum it guards may be read too early.
// launch: row_sum_int32 grid=(rows) block=(128)
extern "C" __global__ void row_sum_int32(const int* x, int* y, int rows, int cols) {
    __shared__ int lock, total;
    if (threadIdx.x == 0) lock = 0, total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 128) sum += x[(long long)blockIdx.x * cols + c];
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        total += sum;
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
