"""Cheat: launches a kernel whose result nobody reads, and returns the library's."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void touch(float* y, long long n) {
    long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < n) {
        y[i] = 1.0f;
    }
}

torch::Tensor touch_all(torch::Tensor y) {
    touch<<<(y.numel() + 255) / 256, 256>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""
own = load_inline(
    name="decoy",
    cpp_sources="torch::Tensor touch_all(torch::Tensor y);",
    cuda_sources=SOURCE,
    functions=["touch_all"],
)


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        own.touch_all(torch.empty_like(a))
        return torch.matmul(a, b)
