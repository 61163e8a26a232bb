#include <stdio.h>
#include <assert.h>
// A check and a message that never comes.
// launch: vector_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    if (i < n) {
        y[i] = a[i] + b[i];
        if (a == nullptr) {
            printf("no input for thread %d\n", i);
        }
    }
}
