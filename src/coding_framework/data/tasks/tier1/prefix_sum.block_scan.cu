// One block a row: 256 columns are scanned in shared memory, every step adding what lies twice as far back.
// launch: prefix_sum grid=(rows) block=(256)
extern "C" __global__ void prefix_sum(const float* __restrict__ x, float* __restrict__ y, int rows,
                                      int cols) {
    __shared__ float sums[256];
    const float* source = x + blockIdx.x * cols;
    float* target = y + blockIdx.x * cols;
    float carried = 0.0f;
    for (int first = 0; first < cols; first += 256) {
        int c = first + threadIdx.x;
        sums[threadIdx.x] = c < cols ? source[c] : 0.0f;
        __syncthreads();
        for (int offset = 1; offset < 256; offset *= 2) {
            float before = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0.0f;
            __syncthreads();
            sums[threadIdx.x] += before;
            __syncthreads();
        }
        if (c < cols) {
            target[c] = carried + sums[threadIdx.x];
        }
        carried += sums[255];
        __syncthreads();
    }
}
