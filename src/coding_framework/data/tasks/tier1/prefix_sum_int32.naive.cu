// launch: prefix_sum_int32 grid=(1) block=(1024)
extern "C" __global__ void prefix_sum_int32(const int* x, int* y, int n) {
    __shared__ int sums[1024];
    int share = (n + 1023) / 1024;
    int start = min(static_cast<int>(threadIdx.x) * share, n);
    int end = min(start + share, n);
    int total = 0;
    for (int i = start; i < end; ++i) {
        total += x[i];
    }
    sums[threadIdx.x] = total;
    __syncthreads();
    for (int offset = 1; offset < 1024; offset *= 2) {
        int before = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    total = sums[threadIdx.x] - total;
    for (int i = start; i < end; ++i) {
        total += x[i];
        y[i] = total;
    }
}
