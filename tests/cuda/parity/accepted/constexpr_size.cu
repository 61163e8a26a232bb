constexpr int tile(int n) { return n * 2; }
extern "C" __global__ void k(float* o) {
  __shared__ float t[tile(16)];
  t[threadIdx.x] = 1;
  o[0] = t[1];
}
