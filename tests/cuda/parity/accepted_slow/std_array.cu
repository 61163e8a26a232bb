#include <array>
extern "C" __global__ void k(float* o) {
  std::array<float, 3> v{1, 2, 3};
  o[0] = v[1];
}
