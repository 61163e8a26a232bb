#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// launch: row_sum grid=(ceil_div(rows, 4)) block=(128)
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int cols) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int r = blockIdx.x * 4 + tile.meta_group_rank();
    float total = 0.0f;
    if (r < rows) {
        for (int c = tile.thread_rank(); c < cols; c += tile.size()) {
            total += x[r * cols + c];
        }
    }
    total = cg::reduce(tile, total, cg::plus<float>());
    if (tile.thread_rank() == 0 && r < rows) {
        y[r] = total;
    }
}
