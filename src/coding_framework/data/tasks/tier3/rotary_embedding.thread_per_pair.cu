// One thread turns one pair: both elements are read once, and no lane takes another branch.
// launch: rotary_embedding grid=(ceil_div(heads * half, 128), tokens) block=(128)
extern "C" __global__ void rotary_embedding(const float* __restrict__ x, const float* __restrict__ cosine,
                                            const float* __restrict__ sine, float* __restrict__ y, int tokens,
                                            int heads, int half) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair < heads * half) {
        int i = pair % half;
        int angle = blockIdx.y * half + i;
        int first = 2 * blockIdx.y * heads * half + pair / half * 2 * half + i;
        float u = x[first], v = x[first + half];
        float co = cosine[angle], si = sine[angle];
        y[first] = u * co - v * si;
        y[first + half] = v * co + u * si;
    }
}
