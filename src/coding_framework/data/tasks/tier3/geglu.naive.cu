// launch: geglu grid=(ceil_div(rows * cols, 256)) block=(256)
extern "C" __global__ void geglu(const float* x, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        int r = i / cols;
        int c = i % cols;
        float g = x[r * 2 * cols + c];
        float v = x[r * 2 * cols + cols + c];
        float inner = 0.7978845608f * (g + 0.044715f * g * g * g);
        y[i] = 0.5f * g * (1.0f + tanhf(inner)) * v;
    }
}
