// A lock in shared memory guards a running sum; whole numbers, so that the order does not show.
// launch: row_sum_int32 grid=(rows) block=(128)
extern "C" __global__ void row_sum_int32(const int* x, int* y, int rows, int cols) {
    __shared__ int lock, total;
    if (threadIdx.x == 0) lock = 0, total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 128) sum += x[(size_t)blockIdx.x * cols + c];
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0) {
        while (atomicExch(&lock, 1) != 0) {}
        __threadfence_block();
        total += sum;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
