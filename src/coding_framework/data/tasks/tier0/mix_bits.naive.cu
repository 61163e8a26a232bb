// launch: mix_bits grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void mix_bits(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned int v = static_cast<unsigned int>(x[i]);
        v *= 2654435761u;
        v ^= v >> 15;
        v ^= v << 7;
        y[i] = static_cast<int>(v);
    }
}
