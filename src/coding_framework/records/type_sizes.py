"""Sizes in bytes of the types that `sizeof` in a launch plan may name, as nvcc lays them out on Linux."""

from __future__ import annotations

from collections.abc import Iterator

_SCALARS = {
    1: "bool char int8_t uint8_t",
    2: "short int16_t uint16_t half __half nv_bfloat16 __nv_bfloat16",
    4: "int unsigned float int32_t uint32_t half2 __half2 nv_bfloat162 __nv_bfloat162",
    8: "long double int64_t uint64_t size_t ptrdiff_t uintptr_t intptr_t",
}
_INTEGERS = {"char": 1, "short": 2, "int": 4, "long": 8, "long long": 8}
_VECTORS = {"char": 1, "short": 2, "int": 4, "long": 8, "longlong": 8}
_FLOAT_VECTORS = {"float": 4, "double": 8}


def _sizes() -> Iterator[tuple[str, int]]:
    for size, names in _SCALARS.items():
        yield from ((name, size) for name in names.split())
    for name, size in _INTEGERS.items():
        for words in (name, name if name in ("int", "char") else f"{name} int"):
            yield from ((begin + words, size) for begin in ("", "signed ", "unsigned "))
    signed = {**_VECTORS, **_FLOAT_VECTORS}
    for name, size in {**signed, **{f"u{name}": size for name, size in _VECTORS.items()}}.items():
        yield from ((f"{name}{count}", count * size) for count in (1, 2, 3, 4))


TYPE_SIZES: dict[str, int] = dict(_sizes())
"""By name, several words with one blank between them."""
