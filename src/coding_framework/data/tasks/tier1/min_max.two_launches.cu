// Every warp reduces 1,024 elements by shuffles; one more warp reduces what the warps found.
// scratch: lows float32[ceil_div(n, 1024)]
// scratch: highs float32[ceil_div(n, 1024)]
// launch: per_warp grid=(ceil_div(n, 8192)) block=(256) args=(x, lows, highs, n)
// launch: combine grid=(1) block=(1024) args=(lows, highs, y, ceil_div(n, 1024))
__device__ __forceinline__ void reduce_warp(float& low, float& high) {
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffff, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffff, high, offset));
    }
}

extern "C" __global__ void per_warp(const float* __restrict__ x, float* __restrict__ lows,
                                    float* __restrict__ highs, int n) {
    int warp = blockIdx.x * 8 + threadIdx.x / 32;
    int first = warp * 1024;
    if (first >= n) {
        return;
    }
    float low = x[first];
    float high = low;
    for (int i = first + threadIdx.x % 32; i < min(first + 1024, n); i += 32) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    reduce_warp(low, high);
    if (threadIdx.x % 32 == 0) {
        lows[warp] = low;
        highs[warp] = high;
    }
}

extern "C" __global__ void combine(const float* __restrict__ lows, const float* __restrict__ highs,
                                   float* __restrict__ y, int warps) {
    __shared__ float shared_lows[32];
    __shared__ float shared_highs[32];
    float low = lows[0];
    float high = highs[0];
    for (int i = threadIdx.x; i < warps; i += 1024) {
        low = fminf(low, lows[i]);
        high = fmaxf(high, highs[i]);
    }
    reduce_warp(low, high);
    if (threadIdx.x % 32 == 0) {
        shared_lows[threadIdx.x / 32] = low;
        shared_highs[threadIdx.x / 32] = high;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        low = shared_lows[threadIdx.x];
        high = shared_highs[threadIdx.x];
        reduce_warp(low, high);
        if (threadIdx.x == 0) {
            y[0] = low;
            y[1] = high;
        }
    }
}
