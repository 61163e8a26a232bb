// A block loads the 256 + taps - 1 inputs that its 256 outputs need, and the weights, once.
// launch: conv1d grid=(ceil_div(n, 256)) block=(256) shared=4*(255 + 2*taps)
extern "C" __global__ void conv1d(const float* __restrict__ x, const float* __restrict__ weight,
                                  float* __restrict__ y, int n, int taps) {
    extern __shared__ float memory[];
    float* weights = memory;
    float* tile = memory + taps;
    int first = blockIdx.x * 256;
    for (int t = threadIdx.x; t < taps; t += 256) {
        weights[t] = weight[t];
    }
    for (int e = threadIdx.x; e < 255 + taps; e += 256) {
        tile[e] = first + e < n + taps - 1 ? x[first + e] : 0.0f;
    }
    __syncthreads();
    if (first + threadIdx.x < n) {
        float total = 0.0f;
        for (int t = 0; t < taps; ++t) {
            total += weights[t] * tile[threadIdx.x + t];
        }
        y[first + threadIdx.x] = total;
    }
}
