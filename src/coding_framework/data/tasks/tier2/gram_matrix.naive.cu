// launch: gram_matrix grid=(ceil_div(cols, 16), ceil_div(cols, 16)) block=(16, 16)
extern "C" __global__ void gram_matrix(const float* x, float* c, int rows, int cols) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < cols && j < cols) {
        float total = 0.0f;
        for (int r = 0; r < rows; ++r) {
            total += x[r * cols + i] * x[r * cols + j];
        }
        c[i * cols + j] = total;
    }
}
