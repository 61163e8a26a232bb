// Four words a thread through 16-byte loads; the last n % 4 words one by one.
// launch: mix_bits grid=(ceil_div(n, 1024)) block=(256)
__device__ __forceinline__ int mixed(int value) {
    unsigned int v = static_cast<unsigned int>(value) * 2654435761u;
    v ^= v >> 15;
    v ^= v << 7;
    return static_cast<int>(v);
}

extern "C" __global__ void mix_bits(const int* __restrict__ x, int* __restrict__ y, int n) {
    int start = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (start + 3 < n) {
        int4 v = *reinterpret_cast<const int4*>(x + start);
        *reinterpret_cast<int4*>(y + start) = make_int4(mixed(v.x), mixed(v.y), mixed(v.z), mixed(v.w));
    } else {
        for (int i = start; i < n; ++i) {
            y[i] = mixed(x[i]);
        }
    }
}
