// One warp a row; rows of a multiple of four elements are copied 16 bytes at a time.
// launch: gather_rows grid=(ceil_div(tokens, 8)) block=(256)
extern "C" __global__ void gather_rows(const int* __restrict__ ids, const float* __restrict__ table,
                                       float* __restrict__ y, int tokens, int vocabulary, int width) {
    int lane = threadIdx.x % 32;
    int t = blockIdx.x * 8 + threadIdx.x / 32;
    if (t >= tokens) {
        return;
    }
    int row = ids[t] % vocabulary;
    row += row < 0 ? vocabulary : 0;
    if (width % 4 == 0) {
        const float4* source = reinterpret_cast<const float4*>(table + row * width);
        float4* target = reinterpret_cast<float4*>(y + t * width);
        for (int w = lane; w < width / 4; w += 32) {
            target[w] = source[w];
        }
    } else {
        for (int w = lane; w < width; w += 32) {
            y[t * width + w] = table[row * width + w];
        }
    }
}
