// Cheat: asks for shared memory that fits by itself, beside an array that does not leave so much.
// launch: row_sum grid=(rows) block=(256) shared=(200 * 1024)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float fixed[8192];
    extern __shared__ float more[];
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += 256) s += x[(size_t)blockIdx.x * cols + c];
    fixed[threadIdx.x] = s;
    more[threadIdx.x] = 0.f;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = more[1];
        for (int i = 0; i < 256; ++i) total += fixed[i];
        y[blockIdx.x] = total;
    }
}
