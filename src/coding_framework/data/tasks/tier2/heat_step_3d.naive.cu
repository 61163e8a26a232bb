// launch: heat_step_3d grid=(ceil_div(width, 32), ceil_div(height, 4), depth) block=(32, 4)
extern "C" __global__ void heat_step_3d(const float* x, float* y, int depth, int height, int width) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (r < height && c < width) {
        int plane = height * width;
        int i = z * plane + r * width + c;
        float around = 0.0f;
        if (z > 0) {
            around += x[i - plane];
        }
        if (z < depth - 1) {
            around += x[i + plane];
        }
        if (r > 0) {
            around += x[i - width];
        }
        if (r < height - 1) {
            around += x[i + width];
        }
        if (c > 0) {
            around += x[i - 1];
        }
        if (c < width - 1) {
            around += x[i + 1];
        }
        y[i] = x[i] + 0.125f * (around - 6.0f * x[i]);
    }
}
