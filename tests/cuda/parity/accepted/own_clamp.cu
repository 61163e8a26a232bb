__device__ float clamp(float v, float low, float high) { return fminf(fmaxf(v, low), high); }
extern "C" __global__ void k(float* o) {
  o[0] = clamp(o[0], 0, 1);
}
