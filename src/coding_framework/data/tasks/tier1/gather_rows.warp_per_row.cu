// One warp a row: its integer is loaded and divided once, not for every element.
// launch: gather_rows grid=(ceil_div(tokens, 8)) block=(256)
extern "C" __global__ void gather_rows(const int* __restrict__ ids, const float* __restrict__ table,
                                       float* __restrict__ y, int tokens, int vocabulary, int width) {
    int lane = threadIdx.x % 32;
    int t = blockIdx.x * 8 + threadIdx.x / 32;
    if (t < tokens) {
        int row = ids[t] % vocabulary;
        row += row < 0 ? vocabulary : 0;
        for (int w = lane; w < width; w += 32) {
            y[t * width + w] = table[row * width + w];
        }
    }
}
