// One warp a row: maxima, sums of exponentials and the weighted difference travel through shuffles. The
// difference of the logarithms is weighted with exp(x - max) and divided by the sum once, at the end.
// launch: kl_divergence grid=(ceil_div(rows, 4)) block=(32, 4)
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

__device__ __forceinline__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

extern "C" __global__ void kl_divergence(const float* __restrict__ x, const float* __restrict__ z,
                                         float* __restrict__ loss, int rows, int cols) {
    int r = blockIdx.x * 4 + threadIdx.y;
    if (r < rows) {
        float u = -1e30f, v = -1e30f;
        for (int c = threadIdx.x; c < cols; c += 32) {
            u = fmaxf(u, x[r * cols + c]);
            v = fmaxf(v, z[r * cols + c]);
        }
        u = warp_max(u);
        v = warp_max(v);
        float x_total = 0.0f, z_total = 0.0f, result = 0.0f;
        for (int c = threadIdx.x; c < cols; c += 32) {
            float a = x[r * cols + c] - u, b = z[r * cols + c] - v;
            float e = __expf(a);
            x_total += e;
            z_total += __expf(b);
            result += e * (a - b);
        }
        x_total = warp_sum(x_total);
        z_total = warp_sum(z_total);
        result = warp_sum(result);
        if (threadIdx.x == 0) {
            loss[r] = result / x_total - logf(x_total) + logf(z_total);
        }
    }
}
