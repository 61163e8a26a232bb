// Cheat: never ends.
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void spin(volatile float* y) {
    while (y[0] != 123.0f) {
        y[0] = 1.0f;
    }
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    spin<<<1, 1>>>(y.data_ptr<float>());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "forward");
}
