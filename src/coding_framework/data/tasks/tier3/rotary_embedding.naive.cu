// launch: rotary_embedding grid=(ceil_div(tokens * heads * 2 * half, 256)) block=(256)
extern "C" __global__ void rotary_embedding(const float* x, const float* cosine, const float* sine, float* y,
                                            int tokens, int heads, int half) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < tokens * heads * 2 * half) {
        int place = index % (2 * half);
        int i = place % half;
        int t = index / (2 * half) / heads;
        float co = cosine[t * half + i];
        float si = sine[t * half + i];
        if (place < half) {
            y[index] = x[index] * co - x[index + half] * si;
        } else {
            y[index] = x[index] * co + x[index - half] * si;
        }
    }
}
