// One block a row; the row is kept in dynamic shared memory, so global memory is read once.
// launch: softmax grid=(rows) block=(128) shared=4*cols
__device__ float reduce(float value, float* buffer, bool take_maximum) {
    buffer[threadIdx.x] = value;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = buffer[threadIdx.x + half];
            buffer[threadIdx.x] = take_maximum ? fmaxf(buffer[threadIdx.x], other) : buffer[threadIdx.x] + other;
        }
        __syncthreads();
    }
    float result = buffer[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    extern __shared__ float row[];
    __shared__ float buffer[128];
    const float* source = x + blockIdx.x * cols;
    float largest = source[0];
    for (int c = threadIdx.x; c < cols; c += 128) {
        row[c] = source[c];
        largest = fmaxf(largest, row[c]);
    }
    largest = reduce(largest, buffer, true);
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) {
        row[c] = expf(row[c] - largest);
        total += row[c];
    }
    float inverse = 1.0f / reduce(total, buffer, false);
    for (int c = threadIdx.x; c < cols; c += 128) {
        y[blockIdx.x * cols + c] = row[c] * inverse;
    }
}
