#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(float* o) {
  auto t = cg::tiled_partition<32>(cg::this_thread_block());
  o[1] = cg::reduce(t, o[0], cg::plus<float>());
}
