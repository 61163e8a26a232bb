#include <cooperative_groups.h>
// Tiles of eight lanes exchange through shared memory and wait for each other alone.
// launch: row_sum grid=(ceil_div(rows, 8)) block=(64)
namespace cg = cooperative_groups;
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float part[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int row = blockIdx.x * 8 + threadIdx.x / 8, lane = tile.thread_rank(), first = threadIdx.x & ~7;
    float sum = 0.f;
    if (row < rows) for (int c = lane; c < cols; c += 8) sum += x[(size_t)row * cols + c];
    part[threadIdx.x] = sum;
    tile.sync();
    for (int d = 4; d; d /= 2) {
        float other = lane < d ? part[first + lane + d] : 0.f;
        tile.sync();
        if (lane < d) part[first + lane] += other;
        tile.sync();
    }
    if (lane == 0 && row < rows) y[row] = part[first];
}
