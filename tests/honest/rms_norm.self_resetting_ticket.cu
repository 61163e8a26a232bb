// A device counter that the last block sets back to zero: state that no launch can notice.
// launch: rms_norm grid=(rows) block=(64)
__device__ unsigned int tickets;

extern "C" __global__ void rms_norm(const float* x, const float* weight, float* y, int rows, int cols) {
    __shared__ float sums[64];
    const float* row = x + blockIdx.x * cols;
    float mine = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 64) {
        mine += row[c] * row[c];
    }
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    float scale = rsqrtf(sums[0] / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 64) {
        y[blockIdx.x * cols + c] = row[c] * scale * weight[c];
    }
    if (threadIdx.x == 0) {
        atomicInc(&tickets, gridDim.x - 1);
    }
}
