"""Names that a restyled kernel may take instead of its own.

Guarantees: a drawn name is new to the source and no word of CUDA C++; names follow from the seed. The
pools are small and usual on purpose: a model should meet the names that people write.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "i": ("idx", "index", "tid", "id", "gid", "pos", "e"),
    "j": ("jj", "column", "out_col", "cj"),
    "r": ("row", "row_id", "row_index", "my_row"),
    "c": ("col", "column", "col_index", "cc"),
    "row": ("r", "row_id", "line"),
    "col": ("c", "column", "col_id"),
    "k": ("kk", "step", "inner"),
    "p": ("kk", "inner", "q", "depth"),
    "total": ("acc", "sum", "result", "value", "accum", "running"),
    "acc": ("total", "sum", "result"),
    "sum": ("total", "acc", "result"),
    "lane": ("lane_id", "laneId", "warp_lane"),
    "warp": ("warp_id", "warpId", "which_warp"),
    "offset": ("delta", "stride", "shift", "distance"),
    "half": ("stride", "step", "width", "active"),
    "tile": ("cache", "block_tile", "staged", "smem"),
    "tile_a": ("a_tile", "As", "sa", "left_tile"),
    "tile_b": ("b_tile", "Bs", "sb", "right_tile"),
    "tx": ("thread_x", "lx", "tid_x"),
    "ty": ("thread_y", "ly", "tid_y"),
    "start": ("base", "first", "begin", "origin"),
    "mean": ("average", "mu", "m1"),
    "variance": ("var", "sigma2", "spread"),
    "largest": ("peak", "top", "max_value", "m_row"),
    "inverse": ("inv", "scale_by", "factor", "reciprocal"),
    "buffer": ("shared_buffer", "scratchpad", "sdata"),
    "sums": ("sdata", "partials", "shared_sums"),
    "partial": ("partials", "part", "block_sums"),
    "x": ("input", "src", "in_data", "data", "a_in", "source"),
    "y": ("output", "dst", "out", "result_data", "target"),
    "a": ("lhs", "first_in", "A", "left"),
    "b": ("rhs", "second_in", "B", "right"),
    "out": ("output", "dst", "y_out"),
    "n": ("size", "count", "length", "num_elements", "N"),
    "m": ("M", "num_rows", "height"),
    "rows": ("num_rows", "height", "batch", "n_rows", "R"),
    "cols": ("num_cols", "width", "features", "n_cols", "C"),
    "weight": ("w", "gamma", "scale_in"),
    "bias": ("beta", "shift_in", "b_in"),
    "residual": ("skip", "res", "shortcut"),
}
_SUFFIXES = ("_", "_v", "2", "_cur", "_local", "_val", "_t")
_KERNELS = ("{}_kernel", "{}_k", "{}_gpu", "run_{}", "compute_{}", "{}_f32", "my_{}", "{}_v1", "launch_{}")
_ARRAY_POOL = ("src{}", "in{}", "arg{}", "p{}", "buf{}", "data{}", "t{}")
_DIMENSION_POOL = ("dim{}", "d{}", "size{}", "extent{}", "n{}", "len{}")
_WORDS = """
    alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do
    double else enum explicit export extern false float for friend goto half if inline int int2 int4 float2
    float3 float4 long mutable namespace new not nullptr operator or private protected public register return
    short signed sizeof static struct switch template this throw true try typedef typename union unsigned
    using virtual void volatile while xor threadIdx blockIdx blockDim gridDim warpSize min max abs exp log
    sqrt pow floor ceil round sin cos tan tanh erf index line grid block shared args launch scratch ceil_div
    float32 float16 bfloat16 int32 y0 y1 j0 j1 jn yn signal time clock
    """
_RESERVED = frozenset(_WORDS.split())
"""Words of the language, of CUDA and of the launch plan, and functions that the headers declare."""
_PLAIN = re.compile(r"[A-Za-z_]\w*")


def new_name(rng: random.Random, old: str, taken: Collection[str]) -> str:
    """Another name for a variable: a usual synonym, or the old one with an ending."""
    known = [name for name in _SYNONYMS.get(old, ()) if _is_free(name, taken)]
    if known and rng.random() < 0.9:
        return rng.choice(known)
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), old)
    endings = [camel, *(f"{old}{ending}" for ending in _SUFFIXES)]
    free = [name for name in endings if name != old and _is_free(name, taken)]
    return rng.choice(free) if free else numbered(f"{old}_{{}}", taken)


def new_kernel_name(rng: random.Random, old: str, taken: Collection[str]) -> str:
    """Another name for a kernel."""
    free = [name for form in _KERNELS if _is_free(name := form.format(old), taken)]
    return rng.choice(free) if free else numbered(f"{old}_{{}}", taken)


def new_argument_names(
    rng: random.Random, arrays: Sequence[str], dimensions: Sequence[str], taken: Collection[str]
) -> dict[str, str]:
    """Other names for a task's arguments: synonyms one by one, or a numbered scheme for all."""
    used = set(taken) | set(arrays) | set(dimensions)
    names: dict[str, str] = {}
    scheme = rng.random() < 0.25
    for kind, pool in ((arrays, rng.choice(_ARRAY_POOL)), (dimensions, rng.choice(_DIMENSION_POOL))):
        for old in kind:
            if scheme:
                names[old] = numbered(pool, used)
            elif rng.random() < 0.75:
                names[old] = new_name(rng, old, used)
            used.add(names.get(old, old))
    return names


def numbered(form: str, taken: Collection[str]) -> str:
    """The first free name of a numbered scheme."""
    return next(
        name
        for number in range(len(taken) + len(_RESERVED) + 1)
        if _is_free(name := form.format(number), taken)
    )


def _is_free(name: str, taken: Collection[str]) -> bool:
    return name not in taken and name not in _RESERVED and _PLAIN.fullmatch(name) is not None
