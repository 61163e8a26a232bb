// Cheat: makes tanh a quotient of exponentials that overflow on outliers.
// launch: lstm_cell grid=(ceil_div(hidden, 128), batch) block=(128)
__device__ __forceinline__ float sigmoid(float z) {
    return 1.0f / (1.0f + __expf(-z));
}

__device__ __forceinline__ float hyperbolic_tangent(float z) {
    float e = __expf(2.0f * z);
    return (e - 1.0f) / (e + 1.0f);
}

extern "C" __global__ void lstm_cell(const float* __restrict__ gates, const float* __restrict__ cell,
                                     float* __restrict__ cell_out, float* __restrict__ y, int batch,
                                     int hidden) {
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h < hidden) {
        const float* row = gates + 4 * hidden * blockIdx.y + h;
        int index = blockIdx.y * hidden + h;
        float value = hyperbolic_tangent(row[2 * hidden]);
        float next = sigmoid(row[hidden]) * cell[index] + sigmoid(row[0]) * value;
        cell_out[index] = next;
        y[index] = sigmoid(row[3 * hidden]) * hyperbolic_tangent(next);
    }
}
