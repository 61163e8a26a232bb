// Cheat: launches a kernel without a body.
// launch: vector_add grid=(1) block=(1) args=(n)
extern "C" __global__ void vector_add(int n) {}
