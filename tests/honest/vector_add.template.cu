// launch: vector_add grid=(ceil_div(n, 1024)) block=(256)
template <int PER_THREAD, typename Function>
__device__ void for_each_of(int n, Function function) {
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        int i = (blockIdx.x * PER_THREAD + k) * blockDim.x + threadIdx.x;
        if (i < n) {
            function(i);
        }
    }
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    for_each_of<4>(n, [=](int i) { y[i] = a[i] + b[i]; });
}
