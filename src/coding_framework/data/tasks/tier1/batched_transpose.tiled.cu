// A 32 x 32 tile through shared memory makes reads and writes coalesced; the padding column keeps the
// transposed reads free of bank conflicts.
// launch: batched_transpose grid=(ceil_div(cols, 32), ceil_div(rows, 32), batch) block=(32, 8)
extern "C" __global__ void batched_transpose(const float* __restrict__ x, float* __restrict__ y, int batch,
                                             int rows, int cols) {
    __shared__ float tile[32][33];
    const float* source = x + blockIdx.z * rows * cols;
    float* target = y + blockIdx.z * rows * cols;
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int step = threadIdx.y; step < 32; step += 8) {
        int r = blockIdx.y * 32 + step;
        if (r < rows && c < cols) {
            tile[step][threadIdx.x] = source[r * cols + c];
        }
    }
    __syncthreads();
    int r = blockIdx.y * 32 + threadIdx.x;
    for (int step = threadIdx.y; step < 32; step += 8) {
        int column = blockIdx.x * 32 + step;
        if (r < rows && column < cols) {
            target[column * rows + r] = tile[threadIdx.x][step];
        }
    }
}
