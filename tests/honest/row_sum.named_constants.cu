// Constants of the file in every place of the plan: grid, block, shared memory, arguments and scratch.
constexpr int kThreads = 128;
static constexpr int kParts = kThreads / 32;
const unsigned kSharedBytes = kThreads * sizeof(float);

// scratch: partial float32[rows * kParts]
// launch: part_sums grid=(kParts, rows) block=(kThreads) shared=kSharedBytes args=(x, partial, cols, kParts)
// launch: add_parts grid=(ceil_div(rows, kThreads)) block=(kThreads) args=(partial, y, rows, kParts)
extern "C" __global__ void part_sums(const float* x, float* partial, int cols, int parts) {
    extern __shared__ float sums[];
    const float* row = x + (size_t)blockIdx.y * cols;
    float sum = 0.0f;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < cols; i += parts * kThreads) {
        sum += row[i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = kThreads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            sums[threadIdx.x] += sums[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.y * parts + blockIdx.x] = sums[0];
    }
}

extern "C" __global__ void add_parts(const float* partial, float* y, int rows, int parts) {
    int r = blockIdx.x * kThreads + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int p = 0; p < parts; ++p) {
            sum += partial[r * parts + p];
        }
        y[r] = sum;
    }
}
