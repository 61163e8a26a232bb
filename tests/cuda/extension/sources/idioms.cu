// What extensions of this kind write in passing: each line is here because some header must allow it.
#include <torch/types.h>
#include <ATen/ATen.h>
#include <pybind11/pybind11.h>
#include <cuda_fp16.h>
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Optional.h>

namespace py = pybind11;
using torch::Tensor;

template <typename scalar_t, int block>
__global__ void sum_rows(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t columns) {
    __shared__ scalar_t partial[block];
    scalar_t total = 0;
    for (int64_t j = threadIdx.x; j < columns; j += block) total += x[blockIdx.x * columns + j];
    partial[threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < block; ++i) partial[0] += partial[i];
        y[blockIdx.x] = max(partial[0], -std::numeric_limits<scalar_t>::infinity());
    }
}

__global__ void halves(const __half* x, at::Half* y, c10::BFloat16* z, int n) {
    const int i = threadIdx.x;
    if (i < n) { y[i] = __float2half(2.0f * __half2float(x[i])); z[i] = float(y[i]) + y[i] * 2; y[i] += y[i] / 2.f; }
}

static inline int64_t blocks_for(const Tensor& x) { return at::ceil_div<int64_t>(x.numel(), 256); }

Tensor sums(const at::Tensor& input, torch::optional<Tensor> weight, at::IntArrayRef normalized, int64_t dim = -1) {
    AT_ASSERTM(input.device().is_cuda() || input.is_cpu(), "device ", input.device(), " of type ", input.dtype());
    TORCH_CHECK(input.sizes() == at::IntArrayRef({2, 3}), "sizes are ", input.sizes(), " and ", input.strides());
    TORCH_CHECK_EQ(input.dim(), 2);
    auto sizes = input.sizes().vec();
    sizes.pop_back();
    std::vector<int64_t> copy(input.sizes().begin(), input.sizes().end());
    auto options = torch::TensorOptions().dtype(input.dtype()).device(input.device()).requires_grad(false);
    auto x = input.contiguous();
    auto y = at::empty(sizes, options), other = torch::zeros({1, 2}, torch::dtype(torch::kInt32).device(torch::kCPU));
    auto like = torch::empty(x.sizes(), x.options());
    if (x.is_cuda()) {
        auto stream = c10::cuda::getCurrentCUDAStream().stream();
        AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sums", [&] {
            constexpr int block = 64;
            sum_rows<scalar_t, block><<<x.size(0), block, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(-1));
        });
        halves<<<blocks_for(x), 32>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), y.data_ptr<at::Half>(), nullptr, 1);
        AT_CUDA_CHECK(cudaGetLastError());
        cudaError_t problem = cudaPeekAtLastError();
        if (problem != cudaSuccess) throw std::runtime_error(cudaGetErrorString(problem));
        printf("%d\n", at::cuda::getCurrentDeviceProperties()->multiProcessorCount);
    }
    y.copy_(x.sum(dim));
    if (weight.has_value() && weight.value().defined()) y.mul_(weight->item<float>());
    return y * static_cast<int>(normalized.size()) + (copy[0] - 2) + int(other.numel()) - 2 + int(like.numel()) - 6;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    module.def("forward", &sums, "row sums", py::arg("input"), py::arg("weight") = py::none(),
               py::arg("normalized") = std::vector<int64_t>({1}), py::arg("dim") = -1, py::call_guard<py::gil_scoped_release>());
}
