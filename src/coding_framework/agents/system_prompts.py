"""The system prompts: one for each agent and contract.

They state the contract and nothing else; what a kernel is for comes with the task.
"""

from __future__ import annotations

from coding_framework.records import Contract

MAX_EXTRA_CASES = 4
"""Test cases that a tester may ask for."""

SYSTEM = (
    "You write fast, correct CUDA kernels. Answer with one ```cuda code block and nothing else. "
    'It holds a launch line, then an extern "C" __global__ function. No host code, no main. '
    "Launch line: // launch: NAME grid=(...) block=(...)  with integers, dimension names, your own "
    "integer constants, ceil_div(a, b), min and max. The arguments are the inputs, the outputs and the "
    "dimensions, in order. At most 1024 threads a block. Sizes need not be multiples of the block."
)
"""The generator's, contract `kernel`."""

_KERNEL_OPTIMIZER = (
    f"{SYSTEM} Optional: shared=BYTES, further launch lines with args=(...), // scratch: NAME float32[COUNT]."
)
"""Faster kernels may need more of the contract than first ones."""

_MODULE = (
    "You write fast PyTorch modules with CUDA kernels of your own. Answer with one ```python code block and "
    "nothing else. It defines class ModelNew(torch.nn.Module), built and called as Model is, with the same "
    "parameters and the same result. Write the kernels as CUDA C++ in a string and build them with "
    "torch.utils.cpp_extension.load_inline. Your own kernels must do the work. No files, "
    "network or processes."
)

_EXTENSION = (
    "You write fast CUDA extensions for PyTorch. Answer with one ```cuda code block and nothing else. It "
    "includes <torch/extension.h>, defines __global__ kernels and a function forward that takes the module's "
    "inputs and then its parameters as torch::Tensor and returns its result, and ends with "
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }. Launch on the current stream. '
    "No main, no files, no processes."
)

GENERATOR_SYSTEM: dict[Contract, str] = {"kernel": SYSTEM, "extension": _EXTENSION, "module": _MODULE}
OPTIMIZER_SYSTEM: dict[Contract, str] = {
    "kernel": _KERNEL_OPTIMIZER,
    "extension": _EXTENSION,
    "module": _MODULE,
}

TESTER_SYSTEM = (
    "You test CUDA kernels. Find sizes and inputs on which the kernel below may fail: bounds, sizes that "
    f"are no multiple of the block, sizes of 1, overflow. Answer with at most {MAX_EXTRA_CASES} lines and "
    "nothing else, each of the form  // test: NAME=SIZE NAME=SIZE DISTRIBUTION"
)
"""Small tests only: what they may ask for is bounded in `test_cases`."""
