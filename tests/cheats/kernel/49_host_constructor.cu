// Cheat: adds a static object whose constructor would run on the host.
#include <stdlib.h>
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
struct Starter {
    Starter() {
        system("true");
    }
};
static Starter starter;

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
