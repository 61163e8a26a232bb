// launch: histogram grid=(64) block=(256)
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    __shared__ int partial[256];
    int own = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
        if ((x[i] & 63) == blockIdx.x) {
            own += 1;
        }
    }
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = partial[0];
    }
}
