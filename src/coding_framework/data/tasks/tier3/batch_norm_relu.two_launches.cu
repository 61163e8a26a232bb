// Many blocks: the first launch finds mean and squared spread of 32 rows of a column, the second joins
// them (the spread of the means is added, so nothing cancels) and normalises its own 32 rows.
// scratch: means float32[ceil_div(rows, 32) * cols]
// scratch: spreads float32[ceil_div(rows, 32) * cols]
// launch: chunks grid=(ceil_div(cols, 128), ceil_div(rows, 32)) block=(128) args=(x, means, spreads, rows, cols)
// launch: apply grid=(ceil_div(cols, 128), ceil_div(rows, 32)) block=(128) args=(x, weight, bias, means, spreads, y, rows, cols)
extern "C" __global__ void chunks(const float* __restrict__ x, float* __restrict__ means,
                                  float* __restrict__ spreads, int rows, int cols) {
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c < cols) {
        int first = blockIdx.y * 32, last = min(first + 32, rows);
        float mean = 0.0f, spread = 0.0f;
        for (int r = first; r < last; ++r) {
            mean += x[r * cols + c];
        }
        mean /= last - first;
        for (int r = first; r < last; ++r) {
            float d = x[r * cols + c] - mean;
            spread += d * d;
        }
        means[blockIdx.y * cols + c] = mean;
        spreads[blockIdx.y * cols + c] = spread;
    }
}

extern "C" __global__ void apply(const float* __restrict__ x, const float* __restrict__ weight,
                                 const float* __restrict__ bias, const float* __restrict__ means,
                                 const float* __restrict__ spreads, float* __restrict__ y, int rows, int cols) {
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c < cols) {
        float mean = 0.0f, spread = 0.0f;
        for (int chunk = 0; chunk < gridDim.y; ++chunk) {
            mean += means[chunk * cols + c] * min(32, rows - 32 * chunk);
        }
        mean /= rows;
        for (int chunk = 0; chunk < gridDim.y; ++chunk) {
            float d = means[chunk * cols + c] - mean;
            spread += spreads[chunk * cols + c] + d * d * min(32, rows - 32 * chunk);
        }
        float factor = rsqrtf(spread / rows + 1e-5f) * weight[c];
        for (int r = blockIdx.y * 32; r < min(blockIdx.y * 32 + 32, rows); ++r) {
            y[r * cols + c] = fmaxf((x[r * cols + c] - mean) * factor + bias[c], 0.0f);
        }
    }
}
