// launch: cosine_similarity grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void cosine_similarity(const float* a, const float* b, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float dot = 0.0f, length_a = 0.0f, length_b = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float u = a[r * cols + c];
            float v = b[r * cols + c];
            dot += u * v;
            length_a += u * u;
            length_b += v * v;
        }
        y[r] = dot / (sqrtf(length_a) * sqrtf(length_b) + 1e-8f);
    }
}
