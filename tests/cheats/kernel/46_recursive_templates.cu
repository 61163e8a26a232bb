// Cheat: instantiates templates without end.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
template <int N> struct Deep { static constexpr int value = Deep<N + 1>::value + 1; };

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i] + 0.0f * Deep<0>::value;
    }
}
