// A fixed number of blocks walks over the arrays, each element read once into registers.
// launch: sgd_momentum grid=(min(ceil_div(n, 256), 1056)) block=(256)
extern "C" __global__ void sgd_momentum(const float* __restrict__ w, const float* __restrict__ gradient,
                                        const float* __restrict__ momentum, float* __restrict__ w_out,
                                        float* __restrict__ momentum_out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float weight = w[i];
        float moved = 0.9f * momentum[i] + gradient[i] + 0.01f * weight;
        momentum_out[i] = moved;
        w_out[i] = weight - 0.1f * moved;
    }
}
