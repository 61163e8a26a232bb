// Every thread takes the lock, those of one warp too; it is given back by a volatile store.
// launch: row_sum_int32 grid=(rows) block=(64)
extern "C" __global__ void row_sum_int32(const int* x, int* y, int rows, int cols) {
    __shared__ int lock, total;
    if (threadIdx.x == 0) lock = 0, total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[(size_t)blockIdx.x * cols + c];
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total += sum;
            __threadfence_block();
            *(volatile int*)&lock = 0;
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
