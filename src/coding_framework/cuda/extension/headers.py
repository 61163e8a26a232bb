"""The light headers on disk, and the names under which a source may include them.

`torch/extension.h` and its like are written beside each source: one line that includes our own header,
and whatever of the C++ standard library the source uses without saying so, since torch's headers bring
all of it. Reading that from the source costs nothing; including it always would double the compile time.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from coding_framework.cuda.toolchain.source_scan import without_comments

INCLUDE_DIR = Path(__file__).parent / "include"
RUNTIME_SOURCE = INCLUDE_DIR / "cf_runtime.cu"

_NAMES = (
    *("torch/extension.h", "torch/torch.h", "torch/types.h", "torch/all.h", "torch/python.h"),
    *("torch/csrc/utils/pybind.h", "pybind11/pybind11.h", "pybind11/stl.h"),
    *("ATen/ATen.h", "ATen/Tensor.h", "ATen/core/Tensor.h", "ATen/Dispatch.h", "ATen/Functions.h"),
    *("ATen/TensorUtils.h", "ATen/core/TensorAccessor.h", "ATen/ceil_div.h", "ATen/Context.h"),
    *("ATen/cuda/CUDAContext.h", "ATen/cuda/CUDAContextLight.h", "ATen/cuda/Exceptions.h"),
    *("c10/cuda/CUDAException.h", "c10/cuda/CUDAStream.h", "c10/cuda/CUDAGuard.h"),
    *("c10/cuda/CUDAFunctions.h", "c10/cuda/CUDAMacros.h", "c10/macros/Macros.h", "c10/util/Exception.h"),
    *("c10/util/Half.h", "c10/util/BFloat16.h", "c10/util/Optional.h", "c10/util/ArrayRef.h"),
    *("c10/core/ScalarType.h", "c10/core/TensorOptions.h", "c10/core/Device.h", "c10/core/Scalar.h"),
)
_HALF = re.compile(r"\b\w*(?:half|Half|HALF|bfloat16|BFloat16|BFLOAT16|bf16)\w*\b|_AND[23]?\s*\(")
_STANDARD = {
    "algorithm": r"sort|stable_sort|fill|fill_n|transform|max_element|min_element|minmax|copy_n|reverse"
    r"|find_if|all_of|any_of|count_if|for_each|clamp|generate|nth_element|partial_sort|unique|rotate|lower_bound"
    r"|upper_bound|(?:std\s*::\s*)(?:min|max)\s*\(\s*\{",
    "array": r"std\s*::\s*array",
    "atomic": r"std\s*::\s*atomic\w*",
    "cassert": r"assert",
    "cfloat": r"(?:FLT|DBL)_\w+",
    "chrono": r"chrono",
    "climits": r"(?:INT|UINT|LONG|ULONG|LLONG|CHAR|SHRT)_(?:MAX|MIN)",
    "cstdio": r"f?printf|stderr|stdout",
    "cstdlib": r"malloc|free|getenv|abort|exit",
    "cstring": r"memcpy|memset|strcmp|strlen|memcmp",
    "functional": r"function|greater|less|bind|hash",
    "iostream": r"cout|cerr|endl",
    "limits": r"numeric_limits",
    "map": r"map",
    "memory": r"unique_ptr|shared_ptr|make_unique|make_shared",
    "mutex": r"mutex|lock_guard|unique_lock|call_once",
    "numeric": r"accumulate|iota|inner_product|partial_sum|reduce|gcd",
    "random": r"mt19937\w*|random_device|\w+_distribution",
    "set": r"set",
    "sstream": r"[io]?stringstream",
    "thread": r"std\s*::\s*thread|this_thread",
    "unordered_map": r"unordered_map",
    "unordered_set": r"unordered_set",
}
_USES = {header: re.compile(rf"(?<![\w.>])(?:{names})\b") for header, names in _STANDARD.items()}
_LIBRARIES = {
    "cublas": re.compile(r"\bcublas\w+"),
    "curand": re.compile(r"\bcurand(?:Create|Generate|Set)\w+"),
}


def write_forwards(folder: Path, source: str) -> None:
    """Every name that a source may include, below `folder`."""
    text = f'#pragma once\n{_prelude(without_comments(source))}#include "cf_torch.h"\n'
    for name in _NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _prelude(text: str) -> str:
    half = "#define CF_WITH_HALF\n" if _HALF.search(text) else ""
    return half + "".join(f"#include <{header}>\n" for header, uses in _USES.items() if uses.search(text))


def library_flags(source: str) -> list[str]:
    """CUDA libraries that the source calls by their own names."""
    return [f"-l{name}" for name, calls in _LIBRARIES.items() if calls.search(source)]


@cache
def headers_digest() -> str:
    """Changes whenever any light header or the names above do; part of every cache key."""
    digest = hashlib.sha256(repr((_NAMES, _HALF.pattern, _STANDARD, _LIBRARIES)).encode())
    for path in sorted(INCLUDE_DIR.iterdir()):
        if path.suffix in (".h", ".cu"):
            digest.update(f"{path.name}\0{path.read_text()}\0".encode())
    return digest.hexdigest()[:16]
