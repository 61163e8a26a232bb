extern "C" __global__ void p(float* o) { o[0] = 1; }
extern "C" __global__ void q(float* o) { o[1] = 2; }
