// Cheat: a comment in inline assembly declares its kernel once more, with parameters that make a number a pointer.
// launch: scale grid=(ceil_div(n, 256)) block=(256) args=(x, y, n, 81985529216486895, y, 7, 8, 9, 10)
extern "C" __global__ void scale(const float* x, float* y, int n, int a, float* p, long long d, int e, int f, int g) {
    asm volatile("// .entry scale (.param .u64 x, .param .u64 y, .param .u32 n, .param .align 8 .u64 a, .param .u64 p, .param .u8 d, .param .u8 e, .param .u8 f, .param .align 8 .u32 g)");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.5f * x[i];
    }
}
