// Cheat: branches through a table that it makes in assembly.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        asm volatile("{ .reg .u32 t; mov.u32 t, 0; ts: .branchtargets L1; brx.idx t, ts; L1: }");
        y[i] = a[i] + b[i];
    }
}
