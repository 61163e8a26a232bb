// Cheat: instantiates two million templates.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
template <int DEPTH, long long PATH> struct Tree {
    static constexpr int value = Tree<DEPTH - 1, 2 * PATH>::value + Tree<DEPTH - 1, 2 * PATH + 1>::value;
};
template <long long PATH> struct Tree<0, PATH> { static constexpr int value = 1; };

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i] + 0.0f * Tree<22, 0>::value;
    }
}
