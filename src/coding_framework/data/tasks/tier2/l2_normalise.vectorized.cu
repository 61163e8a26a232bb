// One warp a row, four elements at a time where four divides cols: only then does every row start at a
// multiple of 16 bytes.
// launch: l2_normalise grid=(ceil_div(rows, 4)) block=(128)
__device__ float inverse_length(float squares) {
    for (int offset = 16; offset > 0; offset /= 2) {
        squares += __shfl_xor_sync(0xffffffff, squares, offset);
    }
    return rsqrtf(squares + 1e-6f);
}

extern "C" __global__ void l2_normalise(const float* __restrict__ x, float* __restrict__ y, int rows,
                                        int cols) {
    int lane = threadIdx.x % 32;
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) {
        return;
    }
    float squares = 0.0f;
    if (cols % 4 == 0) {
        const float4* source = reinterpret_cast<const float4*>(x + r * cols);
        float4* target = reinterpret_cast<float4*>(y + r * cols);
        for (int q = lane; q < cols / 4; q += 32) {
            float4 v = source[q];
            squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
        float inverse = inverse_length(squares);
        for (int q = lane; q < cols / 4; q += 32) {
            float4 v = source[q];
            target[q] = make_float4(v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse);
        }
    } else {
        for (int c = lane; c < cols; c += 32) {
            squares += x[r * cols + c] * x[r * cols + c];
        }
        float inverse = inverse_length(squares);
        for (int c = lane; c < cols; c += 32) {
            y[r * cols + c] = x[r * cols + c] * inverse;
        }
    }
}
