// launch: softmax grid=(rows) block=(128)
struct Max {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <typename Operation>
__device__ float block_reduce(float value, Operation operation, float* room) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = operation(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    if (threadIdx.x % 32 == 0) {
        room[threadIdx.x / 32] = value;
    }
    __syncthreads();
    float result = operation(operation(room[0], room[1]), operation(room[2], room[3]));
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    __shared__ float room[4];
    const float* row = x + blockIdx.x * cols;
    float mine = -3.402823466e+38f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        mine = fmaxf(mine, row[c]);
    }
    float largest = block_reduce(mine, Max{}, room);
    float part = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        part += __expf(row[c] - largest);
    }
    float total = block_reduce(part, Sum{}, room);
    for (int c = threadIdx.x; c < cols; c += 128) {
        y[blockIdx.x * cols + c] = __fdividef(__expf(row[c] - largest), total);
    }
}
