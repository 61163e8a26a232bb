// launch: sgd_momentum grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void sgd_momentum(const float* w, const float* gradient, const float* momentum,
                                        float* w_out, float* momentum_out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        momentum_out[i] = 0.9f * momentum[i] + gradient[i] + 0.01f * w[i];
        w_out[i] = w[i] - 0.1f * momentum_out[i];
    }
}
