// launch: quantize_rows grid=(ceil_div(rows, 128)) block=(128)
extern "C" __global__ void quantize_rows(const float* x, int* q, float* peak, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float largest = 0.0f;
        for (int c = 0; c < cols; ++c) {
            largest = fmaxf(largest, fabsf(x[r * cols + c]));
        }
        peak[r] = largest;
        int exponent;
        frexpf(largest, &exponent);
        float power = ldexpf(1.0f, 15 - exponent);
        for (int c = 0; c < cols; ++c) {
            q[r * cols + c] = min(__float2int_rn(x[r * cols + c] * power), 32767);
        }
    }
}
