// Macros that make names, as many headers do.
// launch: vector_add grid=(ceil_div(n, 512)) block=(256)
#define JOIN(first, second) first##second
#define LOAD(array, k) float JOIN(array, k) = i##k < n ? array[i##k] : 0.0f
#define TEXT(x) #x

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i0 = blockIdx.x * 512 + threadIdx.x;
    int i1 = i0 + 256;
    LOAD(a, 0);
    LOAD(b, 0);
    LOAD(a, 1);
    LOAD(b, 1);
    static_assert(sizeof(TEXT(a0)) == 3, "two letters and a zero");
    if (i0 < n) {
        y[i0] = a0 + b0;
    }
    if (i1 < n) {
        y[i1] = a1 + b1;
    }
}
