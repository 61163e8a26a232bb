// One block a token: a warp keeps the angles in registers and turns one head after another with them.
// launch: rotary_embedding grid=(tokens) block=(32, 4)
extern "C" __global__ void rotary_embedding(const float* __restrict__ x, const float* __restrict__ cosine,
                                            const float* __restrict__ sine, float* __restrict__ y, int tokens,
                                            int heads, int half) {
    for (int i = threadIdx.x; i < half; i += 32) {
        float co = cosine[blockIdx.x * half + i];
        float si = sine[blockIdx.x * half + i];
        for (int h = threadIdx.y; h < heads; h += 4) {
            int first = (blockIdx.x * heads + h) * 2 * half + i;
            float u = x[first], v = x[first + half];
            y[first] = u * co - v * si;
            y[first + half] = v * co + u * si;
        }
    }
}
