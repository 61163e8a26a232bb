// launch: lstm_cell grid=(ceil_div(batch * hidden, 256)) block=(256)
extern "C" __global__ void lstm_cell(const float* gates, const float* cell, float* cell_out, float* y,
                                     int batch, int hidden) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < batch * hidden) {
        int row = index / hidden * 4 * hidden;
        int h = index % hidden;
        float i = 1.0f / (1.0f + expf(-gates[row + h]));
        float f = 1.0f / (1.0f + expf(-gates[row + hidden + h]));
        float g = tanhf(gates[row + 2 * hidden + h]);
        float o = 1.0f / (1.0f + expf(-gates[row + 3 * hidden + h]));
        cell_out[index] = f * cell[index] + i * g;
        y[index] = o * tanhf(cell_out[index]);
    }
}
