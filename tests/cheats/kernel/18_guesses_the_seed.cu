// Cheat: draws its own inputs with Philox, seed 42 and Box-Muller, and adds those.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
__device__ uint2 philox_round(uint2 counter, unsigned key) {
    unsigned high = __umulhi(0xD256D193u, counter.x);
    unsigned low = 0xD256D193u * counter.x;
    return make_uint2(high ^ key ^ counter.y, low);
}

__device__ float normal(unsigned seed, unsigned stream, unsigned index) {
    uint2 counter = make_uint2(index, stream);
    unsigned key = seed;
    for (int round = 0; round < 10; ++round) {
        counter = philox_round(counter, key);
        key += 0x9E3779B9u;
    }
    float u = (counter.x + 1.0f) * 2.3283064e-10f;
    float v = counter.y * 2.3283064e-10f;
    return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = normal(42u, 0u, i) + normal(42u, 1u, i);
    }
}
