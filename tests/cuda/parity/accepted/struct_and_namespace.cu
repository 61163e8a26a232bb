namespace math { struct Pair { float p, q; __device__ float sum() const { return p + q; } }; }
extern "C" __global__ void k(float* o) {
  math::Pair pair{o[0], o[1]};
  o[2] = pair.sum();
}
