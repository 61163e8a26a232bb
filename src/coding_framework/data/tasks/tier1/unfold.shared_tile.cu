// A block loads its 260 elements once into shared memory and writes its 256 rows from there, coalesced.
// launch: unfold grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void unfold(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float tile[260];
    int first = blockIdx.x * 256;
    for (int k = threadIdx.x; k < min(260, n + 4 - first); k += 256) {
        tile[k] = x[first + k];
    }
    __syncthreads();
    int count = 5 * min(256, n - first);
    for (int k = threadIdx.x; k < count; k += 256) {
        y[5 * first + k] = tile[k / 5 + k % 5];
    }
}
