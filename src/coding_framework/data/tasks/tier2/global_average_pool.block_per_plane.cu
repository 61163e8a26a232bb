// One block a plane, read as float4 where a plane's size is a multiple of four; four warps meet in shared
// memory.
// launch: global_average_pool grid=(planes) block=(128)
extern "C" __global__ void global_average_pool(const float* __restrict__ x, float* __restrict__ y, int planes,
                                               int height, int width) {
    __shared__ float sums[4];
    int count = height * width;
    const float* plane = x + blockIdx.x * count;
    int whole = count % 4 == 0 ? count / 4 : 0;
    float total = 0.0f;
    for (int q = threadIdx.x; q < whole; q += 128) {
        float4 v = reinterpret_cast<const float4*>(plane)[q];
        total += v.x + v.y + v.z + v.w;
    }
    for (int i = 4 * whole + threadIdx.x; i < count; i += 128) {
        total += plane[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_down_sync(0xffffffff, total, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = total;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = (sums[0] + sums[1] + sums[2] + sums[3]) / count;
    }
}
