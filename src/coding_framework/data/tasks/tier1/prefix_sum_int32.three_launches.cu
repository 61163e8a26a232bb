// Chunks of 4,096 elements are summed side by side, one block scans these sums, and every chunk is
// then scanned
// from where it starts. Within a chunk a thread takes 16 neighbours and a block scans the threads' sums.
// scratch: totals int32[ceil_div(n, 4096)]
// launch: chunk_sum grid=(ceil_div(n, 4096)) block=(256) args=(x, totals, n)
// launch: scan_totals grid=(1) block=(256) args=(totals, ceil_div(n, 4096))
// launch: scan_chunk grid=(ceil_div(n, 4096)) block=(256) args=(x, totals, y, n)
__device__ __forceinline__ int scan_block(int value, int* sums) {
    int lane = threadIdx.x % 32;
    for (int offset = 1; offset < 32; offset *= 2) {
        int before = __shfl_up_sync(0xffffffff, value, offset);
        value += lane >= offset ? before : 0;
    }
    if (lane == 31) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    for (int warp = 0; warp < static_cast<int>(threadIdx.x / 32); ++warp) {
        value += sums[warp];
    }
    __syncthreads();
    return value;
}

extern "C" __global__ void chunk_sum(const int* __restrict__ x, int* __restrict__ totals, int n) {
    __shared__ int sums[8];
    int end = min(static_cast<int>(blockIdx.x + 1) * 4096, n);
    int total = 0;
    for (int i = blockIdx.x * 4096 + threadIdx.x; i < end; i += 256) {
        total += x[i];
    }
    total = scan_block(total, sums);
    if (threadIdx.x == 255) {
        totals[blockIdx.x] = total;
    }
}

extern "C" __global__ void scan_totals(int* totals, int chunks) {
    __shared__ int sums[8];
    __shared__ int last;
    int carried = 0;
    for (int first = 0; first < chunks; first += 256) {
        int i = first + threadIdx.x;
        int own = i < chunks ? totals[i] : 0;
        int total = carried + scan_block(own, sums);
        if (i < chunks) {
            totals[i] = total - own;
        }
        if (threadIdx.x == 255) {
            last = total;
        }
        __syncthreads();
        carried = last;
        __syncthreads();
    }
}

extern "C" __global__ void scan_chunk(const int* __restrict__ x, const int* __restrict__ totals,
                                      int* __restrict__ y, int n) {
    __shared__ int sums[8];
    __shared__ int values[4096 + 128];
    int first = blockIdx.x * 4096;
    for (int k = threadIdx.x; k < 4096; k += 256) {
        values[k + k / 32] = first + k < n ? x[first + k] : 0;
    }
    __syncthreads();
    int own = 0;
    for (int k = 16 * threadIdx.x; k < 16 * threadIdx.x + 16; ++k) {
        own += values[k + k / 32];
    }
    int total = totals[blockIdx.x] + scan_block(own, sums) - own;
    for (int k = 16 * threadIdx.x; k < 16 * threadIdx.x + 16; ++k) {
        total += values[k + k / 32];
        values[k + k / 32] = total;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < min(4096, n - first); k += 256) {
        y[first + k] = values[k + k / 32];
    }
}
