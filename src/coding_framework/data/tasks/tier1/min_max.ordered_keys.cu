// Floats are ordered as integers once the bits of negative ones are turned around. So warps meet in two
// integers by atomics, and a last thread turns the keys back.
// scratch: keys int32[2]
// launch: clear grid=(1) block=(2) args=(keys)
// launch: per_warp grid=(ceil_div(n, 4096)) block=(256) args=(x, keys, n)
// launch: decode grid=(1) block=(2) args=(keys, y)
__device__ __forceinline__ int key_of(float value) {
    int bits = __float_as_int(value);
    return bits >= 0 ? bits : bits ^ 0x7fffffff;
}

extern "C" __global__ void clear(int* keys) {
    keys[threadIdx.x] = threadIdx.x == 0 ? 0x7fffffff : static_cast<int>(0x80000000u);
}

extern "C" __global__ void per_warp(const float* __restrict__ x, int* __restrict__ keys, int n) {
    int low = 0x7fffffff;
    int high = static_cast<int>(0x80000000u);
    int end = min(static_cast<int>(blockIdx.x + 1) * 4096, n);
    for (int i = blockIdx.x * 4096 + threadIdx.x; i < end; i += 256) {
        int key = key_of(x[i]);
        low = min(low, key);
        high = max(high, key);
    }
    low = __reduce_min_sync(0xffffffff, low);
    high = __reduce_max_sync(0xffffffff, high);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&keys[0], low);
        atomicMax(&keys[1], high);
    }
}

extern "C" __global__ void decode(const int* keys, float* y) {
    int key = keys[threadIdx.x];
    y[threadIdx.x] = __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);
}
