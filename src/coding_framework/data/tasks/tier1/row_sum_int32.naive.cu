// launch: row_sum_int32 grid=(rows) block=(256)
extern "C" __global__ void row_sum_int32(const int* x, int* y, int rows, int cols) {
    __shared__ int partial[256];
    int r = blockIdx.x;
    int total = 0;
    for (int c = threadIdx.x; c < cols; c += 256) {
        total += x[r * cols + c];
    }
    partial[threadIdx.x] = total;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[r] = partial[0];
    }
}
