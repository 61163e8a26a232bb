// Maxima of 1, 2, 4, ... values, each made of two of the size before; a window is then the larger of two
// that overlap. log2(window) steps instead of window, between two tiles in shared memory.
// launch: max_pool_1d grid=(ceil_div(n, 128), rows) block=(128) shared=8*(127 + window)
extern "C" __global__ void max_pool_1d(const float* __restrict__ x, float* __restrict__ y, int rows, int n,
                                       int window) {
    extern __shared__ float memory[];
    int size = 127 + window, first = blockIdx.x * 128, length = n + window - 1;
    float* now = memory;
    float* next = memory + size;
    const float* source = x + blockIdx.y * length;
    for (int e = threadIdx.x; e < size; e += 128) {
        now[e] = source[min(first + e, length - 1)];
    }
    __syncthreads();
    int span = 1;
    for (; 2 * span <= window; span *= 2) {
        for (int e = threadIdx.x; e < size; e += 128) {
            next[e] = fmaxf(now[e], now[min(e + span, size - 1)]);
        }
        __syncthreads();
        float* swap = now;
        now = next;
        next = swap;
    }
    if (first + threadIdx.x < n) {
        y[blockIdx.y * n + first + threadIdx.x] = fmaxf(now[threadIdx.x], now[threadIdx.x + window - span]);
    }
}
