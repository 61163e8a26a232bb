#include <cmath>
using namespace std;
extern "C" __global__ void k(float* o, int n) {
  o[0] = max(o[1], 0.0f) + min(n, 3) + sqrt(o[2]);
}
