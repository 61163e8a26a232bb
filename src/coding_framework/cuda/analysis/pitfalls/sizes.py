"""Sizes and qualifiers of the types that kernels use, from their words alone.

It knows CUDA's own types and nothing of typedefs: a size that is not known is 0.
"""

from __future__ import annotations

import re

from coding_framework.cuda.analysis.pitfalls.ir import TypeWords

_SIZES = {
    "char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "uchar": 1,
    "short": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "int16_t": 2, "uint16_t": 2,
    "int": 4, "unsigned": 4, "float": 4, "half2": 4, "__half2": 4, "__nv_bfloat162": 4, "uint": 4,
    "int32_t": 4, "uint32_t": 4, "signed": 4, "char4": 4, "uchar4": 4,
    "long": 8, "double": 8, "size_t": 8, "int64_t": 8, "uint64_t": 8, "float2": 8, "int2": 8, "uint2": 8,
    "ptrdiff_t": 8, "float3": 12, "int3": 12, "float4": 16, "int4": 16, "uint4": 16, "double2": 16,
}  # fmt: skip
_FLOATS = frozenset(
    {"half", "__half", "__nv_bfloat16", "nv_bfloat16", "float", "half2", "__half2", "double", "float2"}
    | {"__nv_bfloat162", "float3", "float4", "double2"}
)
_WORD = re.compile(r"\w+")


def type_words(text: str) -> TypeWords:
    """What the type and the qualifiers of a declaration say."""
    words = _WORD.findall(text)
    size = max((_SIZES.get(word, 0) for word in words), default=0)
    if "short" in words:
        size = 2
    return TypeWords(
        element_bytes=size,
        is_float=any(word in _FLOATS for word in words),
        is_shared="__shared__" in words,
        is_volatile="volatile" in words,
        is_const="const" in words or "constexpr" in words,
    )
