#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <ATen/cuda/CUDAContext.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == torch::kFloat32, #x " must be a float32 tensor")

__global__ void scale_kernel(const float* x, float* y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}

template <int tile> __global__ void twice(float* x, int n) { if (threadIdx.x < tile && threadIdx.x < n) x[threadIdx.x] *= 2; }

torch::Tensor forward(torch::Tensor x, float factor) {
    CHECK_FLOAT(x); CHECK_CONTIGUOUS(x); CHECK_CUDA(x);
    auto y = torch::empty({x.size(0), x.size(1)}, x.options());
    const int n = x.numel();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), factor, n);
    twice<32><<<1, 32>>>(y.data_ptr<float>(), n);
    C10_CUDA_CHECK(cudaGetLastError());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "Scale (CUDA)"); }
