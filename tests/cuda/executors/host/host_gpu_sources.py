"""Tasks and candidates for a GPU: honest ones, and cheats that only a device can show."""

from __future__ import annotations

from coding_framework.records import Candidate, ModuleTask, Verdict

RELU_TASK = ModuleTask(
    name="relu_16m",
    source="""
import torch
import torch.nn as nn

rows, columns = 4096, 4096


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
""",
    hidden_constants=({"rows": 1, "columns": 7}, {"rows": 333, "columns": 1023}),
)
LINEAR_TASK = ModuleTask(
    name="linear_1024",
    source="""
import torch
import torch.nn as nn

batch, size = 512, 1024


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(batch, size)]


def get_init_inputs():
    return [size]
""",
    hidden_constants=({"batch": 1, "size": 33}, {"batch": 77}),
)

_RELU = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    %(body)s
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    long n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    %(after)s
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "relu"); }
"""
_LINEAR = """
#include <torch/extension.h>

__global__ void linear_relu(const float* x, const float* w, const float* b, float* y, int rows, int size) {
    __shared__ float xs[16][17], ws[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    int wrow = blockIdx.x * 16 + threadIdx.y;
    float sum = 0;
    for (int start = 0; start < size; start += 16) {
        int k = start + threadIdx.x;
        xs[threadIdx.y][threadIdx.x] = row < rows && k < size ? x[row * size + k] : 0;
        ws[threadIdx.y][threadIdx.x] = wrow < size && k < size ? w[wrow * size + k] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += xs[threadIdx.y][i] * ws[threadIdx.x][i];
        __syncthreads();
    }
    if (row < rows && column < size) y[row * size + column] = fmaxf(sum + b[column], 0.0f);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor linear_weight, torch::Tensor linear_bias) {
    int rows = x.size(0), size = x.size(1);
    auto y = torch::empty({rows, size}, x.options());
    dim3 grid((size + 15) / 16, (rows + 15) / 16), block(16, 16);
    linear_relu<<<grid, block>>>(x.data_ptr<float>(), linear_weight.data_ptr<float>(),
                                 linear_bias.data_ptr<float>(), y.data_ptr<float>(), rows, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "linear and relu"); }
"""
_TRITON_RELU = """
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.maximum(value, 0.0), mask=at < n)


def relu(x):
    y = torch.empty_like(x)
    n = x.numel()
    relu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
"""
_MODULE = """
import gc
import torch
%(top)s


class ModelNew(torch.nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.kept = {}
        if sizes:
            self.linear = torch.nn.Linear(sizes[0], sizes[0])
        for clock in [o for o in gc.get_objects() if type(o).__name__ == "CudaClock"]:
            %(clock)s

    def forward(self, x):
        %(body)s
"""
_TWENTY_TIMES = "for _ in range(20): y = relu(x)\nreturn y"
_RIGHT = "if (i < n) y[i] = x[i] > 0 ? x[i] : 0;"


def extension(body: str = _RIGHT, after: str = "") -> Candidate:
    return Candidate(source=_RELU % {"body": body, "after": after}, contract="extension")


def module(body: str, top: str = "", clock: str = "pass") -> Candidate:
    indented = body.replace("\n", "\n        ")
    return Candidate(source=_MODULE % {"body": indented, "top": top, "clock": clock}, contract="module")


HONEST: dict[str, tuple[ModuleTask, Candidate]] = {
    "relu as an extension": (RELU_TASK, extension()),
    "linear as an extension": (LINEAR_TASK, Candidate(source=_LINEAR, contract="extension")),
    "relu in Triton": (RELU_TASK, module("return relu(x)", top=_TRITON_RELU)),
}
CHEATS: dict[str, tuple[ModuleTask, Candidate, set[Verdict]]] = {
    "leaves elements out": (
        RELU_TASK,
        extension("if (i < n / 2) y[i] = x[i] > 0 ? x[i] : 0;"),
        {Verdict.WRONG_RESULT},
    ),
    "writes far out of bounds": (
        RELU_TASK,
        extension("y[i + (1L << 40)] = 0;"),
        {Verdict.OUT_OF_BOUNDS, Verdict.CRASHED},
    ),
    "writes just past its input": (
        RELU_TASK,
        extension(_RIGHT + " if (i == 0) const_cast<float*>(x)[n] = 1;"),
        {Verdict.OUT_OF_BOUNDS},
    ),
    "never ends on the device": (RELU_TASK, extension("while (n) { __nanosleep(100); }"), {Verdict.TIMEOUT}),
    "has a decoy kernel": (RELU_TASK, extension("", "return torch::relu(x);"), {Verdict.NO_KERNEL}),
    "wraps the library": (RELU_TASK, module("return torch.relu(x)"), {Verdict.NO_KERNEL}),
    "works on a side stream": (
        RELU_TASK,
        module(
            "with torch.cuda.stream(S):\n    return relu(x)", top=_TRITON_RELU + "\nS = torch.cuda.Stream()"
        ),
        {Verdict.WRONG_RESULT, Verdict.NOT_DETERMINISTIC, Verdict.CLOCKS_DISAGREE},
    ),
    "rewrites the event clock": (
        RELU_TASK,
        module(_TWENTY_TIMES, top=_TRITON_RELU, clock="clock._elapsed = lambda *a: 0.03"),
        {Verdict.CLOCKS_DISAGREE},
    ),
    "stops waiting for the device": (
        RELU_TASK,
        module(
            _TWENTY_TIMES,
            top=_TRITON_RELU,
            clock="clock.finish = lambda: None; clock._elapsed = lambda *a: 0.03",
        ),
        {Verdict.CLOCKS_DISAGREE, Verdict.WRONG_RESULT},
    ),
    "claims the impossible": (
        RELU_TASK,
        module("y = torch.relu(x)\nreturn y", clock="clock._elapsed = lambda *a: 0.001"),
        {Verdict.CLOCKS_DISAGREE, Verdict.TOO_FAST, Verdict.NO_KERNEL},
    ),
    "remembers by pointer": (
        RELU_TASK,
        module("k = x.data_ptr()\nif k not in self.kept: self.kept[k] = torch.relu(x)\nreturn self.kept[k]"),
        {Verdict.WRONG_RESULT, Verdict.NOT_DETERMINISTIC},
    ),
    "replays a graph of old pointers": (
        RELU_TASK,
        module(
            "k = x.shape\nif k not in self.kept:\n"
            "    g = torch.cuda.CUDAGraph()\n    torch.relu(x); torch.cuda.synchronize()\n"
            "    with torch.cuda.graph(g): y = torch.relu(x)\n    self.kept[k] = (g, y)\n"
            "g, y = self.kept[k]\ng.replay()\nreturn y"
        ),
        {Verdict.WRONG_RESULT, Verdict.NOT_DETERMINISTIC},
    ),
    "switches to TF32": (
        LINEAR_TASK,
        module(
            "return torch.relu(self.linear(x))",
            top="torch.backends.cuda.matmul.allow_tf32 = True\ntorch.set_float32_matmul_precision('high')",
        ),
        {Verdict.WRONG_RESULT},
    ),
    "goes through half precision": (
        LINEAR_TASK,
        module("return torch.relu((x.half() @ self.linear.weight.half().t()).float() + self.linear.bias)"),
        {Verdict.WRONG_RESULT},
    ),
}
