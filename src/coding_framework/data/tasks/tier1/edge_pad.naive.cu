// launch: edge_pad grid=(ceil_div((rows + 2) * (cols + 2), 256)) block=(256)
extern "C" __global__ void edge_pad(const float* x, float* y, int rows, int cols) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < (rows + 2) * (cols + 2)) {
        int r = k / (cols + 2);
        int c = k % (cols + 2);
        int i = min(max(r - 1, 0), rows - 1);
        int j = min(max(c - 1, 0), cols - 1);
        y[k] = x[i * cols + j];
    }
}
