// A block walks through eight planes. Each plane comes with its rim into shared memory once, and the cells
// before and behind wait in registers.
// launch: heat_step_3d grid=(ceil_div(width, 32), ceil_div(height, 8), ceil_div(depth, 8)) block=(32, 8)
extern "C" __global__ void heat_step_3d(const float* __restrict__ x, float* __restrict__ y, int depth,
                                        int height, int width) {
    __shared__ float tile[10][34];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * 8 + ty, c = blockIdx.x * 32 + tx;
    int first = blockIdx.z * 8;
    bool owned = r < height && c < width;
    float before = owned && first > 0 ? x[((first - 1) * height + r) * width + c] : 0.0f;
    for (int z = first; z < min(first + 8, depth); ++z) {
        for (int e = ty * 32 + tx; e < 340; e += 256) {
            int row = (int)blockIdx.y * 8 - 1 + e / 34, col = (int)blockIdx.x * 32 - 1 + e % 34;
            bool inside = row >= 0 && row < height && col >= 0 && col < width;
            tile[e / 34][e % 34] = inside ? x[(z * height + row) * width + col] : 0.0f;
        }
        __syncthreads();
        float here = tile[ty + 1][tx + 1];
        if (owned) {
            float behind = z + 1 < depth ? x[((z + 1) * height + r) * width + c] : 0.0f;
            float around = before + behind + tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] +
                           tile[ty + 1][tx + 2];
            y[(z * height + r) * width + c] = here + 0.125f * (around - 6.0f * here);
        }
        before = here;
        __syncthreads();
    }
}
