"""A source that needs less of the prelude gets less of it, and comes out the same."""

from __future__ import annotations

import re

import pytest

from coding_framework.cuda.toolchain import nvrtc, standins
from coding_framework.cuda.toolchain.locate import include_dirs
from coding_framework.cuda.toolchain.messages import CompileRequest, RawCompilation
from coding_framework.cuda.toolchain.standins import is_plain, standin_headers
from coding_framework.data.tasks import all_tasks, variants

KERNEL = 'extern "C" __global__ void k(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1.0f; }'


def compiled(source: str) -> RawCompilation:
    folders = tuple(str(folder) for folder in include_dirs())
    return nvrtc.compile_request(CompileRequest(source, "sm_90", (), folders))


@pytest.mark.parametrize(
    "before",
    [
        "",
        "#include <cuda_runtime.h>\n",
        "#include <cmath>\n#include <vector>\n",
        "#define EXP expf\n",
        "// the minimum, and maxima\n",
        "// launch: k grid=(min(ceil_div(n, 256), 1)) block=(256)\r\n",
        "/* a\n  // max(1, 2), std::exp\n*/\n",
    ],
)
def test_most_kernels_need_the_plain_part(before: str) -> None:
    assert is_plain(before + KERNEL)
    assert compiled(before + KERNEL).outcome == "built"


@pytest.mark.parametrize(
    "before",
    [
        "__device__ int f(int a, long b) { return min(a, b); }\n",
        "using namespace std;\n",
        "__device__ double f(int a) { return pow(a, 2); }\n",
        "#define CAT(a, b) a##b\n__device__ double f(int a) { return CAT(sq, rt)(a); }\n",
        "#include <cuda_fp16.h>\n",
        "#include <stdint.h>\n",
        '#include "cuda_runtime.h"\n',
        "__device__ float f(cudaTextureObject_t t) { return tex1D<float>(t, 0.5f); }\n",
        "__device__ cudaError_t f() { return cudaSuccess; }\n",
        "#include  <algorithm>\n",
        "__device__ int f(int a, long b) { return /* of\n// two */ min(a, b); }\n",
        "__device__ int f(int a, long b) { return a /* of *\\\n// 1 + min(a, b); }\n",
        '#define TEXT R"(\n// )" /* a */\n__device__ int f(int a, long b) { return min(a, b); }\n',
    ],
)
def test_what_could_use_more_gets_all_of_it(before: str) -> None:
    assert not is_plain(before + KERNEL)
    assert compiled(before + KERNEL).outcome == "built"


def test_every_function_of_the_prelude_is_known() -> None:
    text = standin_headers()["cf/math.h"]
    listed = re.findall(r"\b(?:DO|CF_OF_INTEGER|CF_COMPARE|CF_USING)\((\w+)", text)
    defined = re.findall(r"CF_FN (?:constexpr )?(?:const )?\w+&? ([a-z]\w*)\(", text)
    assert {"sqrt", "pow", "isnan", "lround", "isless", "abs"} < set(listed)
    assert {"max", "min", "fma", "ldexp", "copysign"} < set(defined)
    assert set(listed) | set(defined) == set(standins._OVERLOADED) | {"NAME"}


def test_the_rest_of_the_prelude_is_in_std() -> None:
    """Which is why a mention of `std` is enough to look for."""
    for name in ("cf/type_traits.h", "cf/limits.h"):
        lines = standin_headers()[name].splitlines()
        code = [line for line in lines if line and not line.startswith(("//", "#", "  ", "CF_"))]
        assert code[0] == "namespace std {"
        assert [line for line in code if "namespace std" in line][1:] == ["}  // namespace std"]


def test_the_same_code_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [task.baseline for task in all_tasks()[::12]]
    kernels += [variant.source for task in all_tasks()[::24] for variant in variants(task.name)]
    plain = [source for source in kernels if is_plain(source)]
    assert len(plain) > 5
    with_less = [compiled(source) for source in plain]
    monkeypatch.setattr(standins, "is_plain", lambda source: False)
    for source, less in zip(plain, with_less, strict=True):
        whole = compiled(source)
        assert whole.outcome == "built"
        assert whole.ptx == less.ptx, source


def test_messages_about_the_source_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = 'extern "C" __global__ void k(float* y) {\n  int unused;\n  y[0] = missing;\n}\n'
    with_less = compiled(wrong)
    monkeypatch.setattr(standins, "is_plain", lambda source: False)
    assert compiled(wrong).log == with_less.log
    assert "kernel.cu(3): error" in with_less.log
