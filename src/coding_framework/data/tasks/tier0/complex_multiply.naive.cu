// launch: complex_multiply grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void complex_multiply(const float* a_real, const float* a_imag, const float* b_real,
                                            const float* b_imag, float* y_real, float* y_imag, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y_real[i] = a_real[i] * b_real[i] - a_imag[i] * b_imag[i];
        y_imag[i] = a_real[i] * b_imag[i] + a_imag[i] * b_real[i];
    }
}
