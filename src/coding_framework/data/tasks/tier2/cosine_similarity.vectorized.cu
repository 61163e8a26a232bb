// One warp a row; where four divides cols, rows start at multiples of 16 bytes and are read as float4.
// launch: cosine_similarity grid=(ceil_div(rows, 4)) block=(128)
__device__ void add(float3* sums, float u, float v) {
    sums->x += u * v;
    sums->y += u * u;
    sums->z += v * v;
}

extern "C" __global__ void cosine_similarity(const float* __restrict__ a, const float* __restrict__ b,
                                             float* __restrict__ y, int rows, int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float3 sums = make_float3(0.0f, 0.0f, 0.0f);
    int whole = cols % 4 == 0 ? cols / 4 : 0;
    const float4* wide_a = reinterpret_cast<const float4*>(a + r * cols);
    const float4* wide_b = reinterpret_cast<const float4*>(b + r * cols);
    for (int q = lane; q < whole; q += 32) {
        float4 u = wide_a[q], v = wide_b[q];
        add(&sums, u.x, v.x);
        add(&sums, u.y, v.y);
        add(&sums, u.z, v.z);
        add(&sums, u.w, v.w);
    }
    for (int c = 4 * whole + lane; c < cols; c += 32) {
        add(&sums, a[r * cols + c], b[r * cols + c]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sums.x += __shfl_down_sync(0xffffffff, sums.x, offset);
        sums.y += __shfl_down_sync(0xffffffff, sums.y, offset);
        sums.z += __shfl_down_sync(0xffffffff, sums.z, offset);
    }
    if (lane == 0) {
        y[r] = sums.x / (sqrtf(sums.y) * sqrtf(sums.z) + 1e-8f);
    }
}
