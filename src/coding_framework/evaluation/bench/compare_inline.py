"""One kernel as we compile it, and as torch's `load_inline` does, in the same run.

`load_inline` is the usual way to try a CUDA kernel from Python: it writes a torch extension, has ninja
and nvcc build it against torch's headers and loads it. It needs a torch with CUDA, nvcc and ninja; what
is missing is said, and nothing is estimated in its place. Built once, in an empty folder.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.toolchain.locate import find_nvcc
from coding_framework.evaluation.bench.kernels import numbered
from coding_framework.evaluation.bench.records import LoadInlineComparison

Step = Callable[[str, int], Callable[[], None]]

KERNEL = """\
extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
"""
_FORWARD = """\
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.is_cuda() && a.is_contiguous(), "a must be a contiguous CUDA tensor");
  auto y = torch::empty_like(a);
  int n = a.numel();
  vector_add<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
EXTENSION = (
    "#include <torch/extension.h>\n"
    + KERNEL
    + _FORWARD
    + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "vector add"); }\n'
)
_DECLARATION = "torch::Tensor forward(torch::Tensor a, torch::Tensor b);"
_WARM_UP, _SAMPLES = 4, 9


def compare_with_load_inline(
    settings: CompilerSettings, step: Step, *, wanted: bool = True
) -> LoadInlineComparison:
    """Measure what this machine allows."""
    if not wanted:
        return LoadInlineComparison(missing=("not asked for",))
    missing: list[str] = []
    done = step("beside torch's load_inline", 3)
    kernel_s = _kernel_seconds(settings)
    done()
    extension_s, header = _extension_seconds(settings.architecture, missing)
    done()
    inline_s = _load_inline_seconds(missing)
    done()
    return LoadInlineComparison(
        load_inline_s=inline_s,
        kernel_s=kernel_s,
        extension_s=extension_s,
        extension_header=header,
        missing=tuple(missing),
    )


def _kernel_seconds(settings: CompilerSettings) -> float:
    """Median of several, each with a number of its own; the process is warm, the cache is cold."""
    with CUDACompiler(settings.model_copy(update={"workers": 1})) as compiler:
        seconds = [_timed(compiler, numbered(KERNEL, number)) for number in range(_WARM_UP + _SAMPLES)]
    return median(seconds[_WARM_UP:])


def _timed(compiler: CUDACompiler, source: str) -> float:
    started = time.perf_counter()
    result = compiler.compile(source)
    if not result.success or result.from_cache:
        raise AssertionError(f"the benchmark's own kernel was not compiled: {result.errors}")
    return time.perf_counter() - started


def _extension_seconds(architecture: str, missing: list[str]) -> tuple[float | None, str]:
    """Of one build against our light header; the compiler of extensions says itself what it lacks."""
    from coding_framework.errors import FrameworkError

    try:
        compiler = import_module("coding_framework.cuda.extension.compiler").ExtensionCompiler()
    except (ImportError, FrameworkError) as error:
        missing.append(f"extension: not available here: {error}")
        return None, ""
    try:
        build = compiler.compile(EXTENSION)
        return float(build.duration_s), str(build.header)
    except FrameworkError as error:
        missing.append(f"extension: not available here: {error}")
        return None, ""


def why_no_load_inline() -> str | None:
    """What this machine lacks for it, in words; None if nothing."""
    if find_spec("torch") is None:
        return "no torch: pip install 'coding_framework[train]'"
    torch: Any = import_module("torch")
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    if find_nvcc() is None:
        return "no nvcc"
    if shutil.which("ninja") is None:
        return "no ninja: pip install ninja"
    return None


def _load_inline_seconds(missing: list[str]) -> float | None:
    reason = why_no_load_inline()
    if reason is not None:
        missing.append(f"load_inline: not available here: {reason}")
        return None
    cpp_extension: Any = import_module("torch.utils.cpp_extension")
    with TemporaryDirectory(prefix="cf-inline-") as folder:
        started = time.perf_counter()
        cpp_extension.load_inline(
            name=f"cf_bench_{Path(folder).name.replace('-', '_')}",
            cpp_sources=_DECLARATION,
            cuda_sources=KERNEL + _FORWARD,
            functions=["forward"],
            build_directory=folder,
        )
        return time.perf_counter() - started
