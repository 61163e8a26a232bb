// An atomicAdd of floats written with atomicCAS, as in CUDA's programming guide.
// launch: zero grid=(ceil_div(cols, 256)) block=(256) args=(y, cols)
// launch: column_sum grid=(ceil_div(cols, 32), ceil_div(rows, 64)) block=(32) args=(x, y, rows, cols)
extern "C" __global__ void zero(float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = 0.f;
}

__device__ float atomic_add(float* address, float value) {
    int* bits = (int*)address;
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(value + __int_as_float(assumed)));
    } while (assumed != old);
    return __int_as_float(old);
}

extern "C" __global__ void column_sum(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * 32 + threadIdx.x;
    if (c >= cols) return;
    float s = 0.f;
    for (int r = blockIdx.y * 64; r < min(rows, (int)(blockIdx.y + 1) * 64); r++) s += x[r * cols + c];
    atomic_add(y + c, s);
}
