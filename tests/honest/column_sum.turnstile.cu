// Chunks of a strip of columns add in the order of blockIdx.y, so the sum is the same bit for bit.
// scratch: turn int32[ceil_div(cols, 64)]
// launch: init grid=(ceil_div(cols, 64)) block=(64) args=(y, turn, cols)
// launch: column_sum grid=(ceil_div(cols, 64), 4) block=(64) args=(x, y, turn, rows, cols)
extern "C" __global__ void init(float* y, int* turn, int cols) {
    int c = blockIdx.x * 64 + threadIdx.x;
    if (c < cols) y[c] = 0.f;
    if (threadIdx.x == 0) turn[blockIdx.x] = 0;
}

extern "C" __global__ void column_sum(const float* x, float* y, int* turn, int rows, int cols) {
    int c = blockIdx.x * 64 + threadIdx.x, mine = blockIdx.y;
    int chunk = (rows + gridDim.y - 1) / gridDim.y;
    float s = 0.f;
    if (c < cols)
        for (int r = mine * chunk; r < min(rows, (mine + 1) * chunk); r++) s += x[r * cols + c];
    if (threadIdx.x == 0) {
        while (atomicCAS(&turn[blockIdx.x], mine, mine) != mine) {}
        __threadfence();
    }
    __syncthreads();
    if (c < cols) __stcg(&y[c], __ldcg(&y[c]) + s);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&turn[blockIdx.x], mine + 1);
}
