// A thread computes five neighbouring outputs from a window of registers that moves by one input a tap, so
// each input is read from shared memory once instead of five times. Five, because an odd distance
// between lanes meets no bank twice.
// launch: conv1d grid=(ceil_div(n, 640)) block=(128) shared=4*(639 + 2*taps)
extern "C" __global__ void conv1d(const float* __restrict__ x, const float* __restrict__ weight,
                                  float* __restrict__ y, int n, int taps) {
    extern __shared__ float memory[];
    float* weights = memory;
    float* tile = memory + taps;
    int first = blockIdx.x * 640;
    for (int t = threadIdx.x; t < taps; t += 128) {
        weights[t] = weight[t];
    }
    for (int e = threadIdx.x; e < 639 + taps; e += 128) {
        tile[e] = first + e < n + taps - 1 ? x[first + e] : 0.0f;
    }
    __syncthreads();
    const float* own = tile + threadIdx.x * 5;
    float w0 = own[0], w1 = own[1], w2 = own[2], w3 = own[3];
    float total[5] = {};
    for (int t = 0; t < taps; ++t) {
        float w4 = own[t + 4];
        float factor = weights[t];
        total[0] += factor * w0;
        total[1] += factor * w1;
        total[2] += factor * w2;
        total[3] += factor * w3;
        total[4] += factor * w4;
        w0 = w1;
        w1 = w2;
        w2 = w3;
        w3 = w4;
    }
    __syncthreads();
    for (int q = 0; q < 5; ++q) {
        tile[threadIdx.x * 5 + q] = total[q];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < 640 && first + e < n; e += 128) {
        y[first + e] = tile[e];
    }
}
