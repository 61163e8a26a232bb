// launch: gather_rows grid=(ceil_div(tokens * width, 256)) block=(256)
extern "C" __global__ void gather_rows(const int* ids, const float* table, float* y, int tokens,
                                       int vocabulary, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * width) {
        int row = ((ids[i / width] % vocabulary) + vocabulary) % vocabulary;
        y[i] = table[row * width + i % width];
    }
}
