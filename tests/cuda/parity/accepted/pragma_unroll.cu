extern "C" __global__ void k(float* o) {
#pragma unroll 4
for (int j = 0; j < 4; j++) o[j] += 1; }
