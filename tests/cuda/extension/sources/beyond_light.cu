#include <torch/extension.h>

__global__ void unused_kernel(float* x) { x[threadIdx.x] += 1; }

// Python-like indexing is beyond the light headers, and so is a parameter of a type of pybind11's.
torch::Tensor forward(torch::Tensor x) {
    using torch::indexing::Slice;
    return x.index({Slice(0, 2), Slice(1, torch::indexing::None)}) * 2;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
