#define M_PI 3.14
#define TILE 16
extern "C" __global__ void k(float* o) {
  __shared__ float t[TILE];
  t[threadIdx.x] = M_PI;
  o[0] = t[0];
}
