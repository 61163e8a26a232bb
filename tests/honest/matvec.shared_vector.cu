// launch: matvec grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void matvec(const float* a, const float* x, float* y, int rows, int cols) {
    __shared__ float part[128];
    int r = blockIdx.x * 128 + threadIdx.x;
    float total = 0.0f;
    for (int start = 0; start < cols; start += 128) {
        int c = start + threadIdx.x;
        part[threadIdx.x] = c < cols ? x[c] : 0.0f;
        __syncthreads();
        int count = min(128, cols - start);
        if (r < rows) {
            for (int k = 0; k < count; ++k) {
                total = fmaf(a[r * cols + start + k], part[k], total);
            }
        }
        __syncthreads();
    }
    if (r < rows) {
        y[r] = total;
    }
}
