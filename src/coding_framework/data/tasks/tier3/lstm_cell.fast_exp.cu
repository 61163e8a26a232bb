// tanh(z) = 2 * sigmoid(2z) - 1, so that all five functions are fast exponentials; one grid row a batch row.
// launch: lstm_cell grid=(ceil_div(hidden, 128), batch) block=(128)
__device__ __forceinline__ float sigmoid(float z) {
    return 1.0f / (1.0f + __expf(-z));
}

extern "C" __global__ void lstm_cell(const float* __restrict__ gates, const float* __restrict__ cell,
                                     float* __restrict__ cell_out, float* __restrict__ y, int batch,
                                     int hidden) {
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h < hidden) {
        const float* row = gates + 4 * hidden * blockIdx.y + h;
        int index = blockIdx.y * hidden + h;
        float value = 2.0f * sigmoid(2.0f * row[2 * hidden]) - 1.0f;
        float next = sigmoid(row[hidden]) * cell[index] + sigmoid(row[0]) * value;
        cell_out[index] = next;
        y[index] = sigmoid(row[3 * hidden]) * (2.0f * sigmoid(2.0f * next) - 1.0f);
    }
}
