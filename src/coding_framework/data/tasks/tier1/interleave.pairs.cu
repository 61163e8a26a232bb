// One thread a pair: no branch, and both elements in one store of eight bytes.
// launch: interleave grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void interleave(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        reinterpret_cast<float2*>(y)[i] = make_float2(a[i], b[i]);
    }
}
