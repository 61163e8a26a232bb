"""What a CUDA source does, as far as its syntax tree tells: the facts that strategies are named from.

Each method of `CodeFacts` answers one question in a few lines. Guarantees: any text gives facts, and
nothing is executed. It does not expand macros, follow calls or know values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from coding_framework.agents.code_reading import (
    WORD_NODES,
    Array,
    Assignment,
    Step,
    count_scratch,
    mentions,
    read_arrays,
    read_assignments,
    read_pointers,
    read_steps,
    read_subscripts,
    read_types,
    size_names,
)
from coding_framework.cuda.analysis.syntax import calls, parse, text, walk

_VECTOR = re.compile(r"\b(?:u?(?:char|short|int|long|longlong)|float|double)[234]\b")
_VECTOR_POINTER = re.compile(_VECTOR.pattern + r"(?:\s*const)?\s*\*")
_PAIR_OF_HALVES = re.compile(r"^(?:__)?(?:half2|nv_bfloat162|h\w+2|low2half|high2half|floats?2half2\w*)$")
_FAST_MATH = re.compile(
    r"^__(?:expf|exp10f|logf|log2f|log10f|powf|sinf|cosf|sincosf|tanf|tanhf|fdividef|saturatef"
    r"|frcp_\w+|fsqrt_\w+|frsqrt_\w+|fdiv_\w+)$"
)
_WARP_EXCHANGE = re.compile(r"^(?:__shfl(?:_\w+)?|__reduce_\w+_sync|shfl(?:_\w+)?)$")
_ASYNC_COPY = frozenset({"memcpy_async", "__pipeline_memcpy_async", "cp_async_bulk", "pipeline_commit"})
_EXPONENTIAL = re.compile(r"\b(?:__)?exp(?:2|10)?f?\b")
_ALTERNATES = re.compile(r"\^ ?1\b|% ?2\b|& ?1\b|\b1 ?-")
MAX_READ_CHARS = 32_768
"""Longer sources are not read: no kernel that a model writes is, and noise would take its time."""
_LANE = re.compile(r"% ?(?:32|warpSize|WARP_SIZE)\b|& ?(?:31|0x1f)\b")
_WARP_STEP = frozenset({"32", "warpSize", "WARP_SIZE", "kWarpSize"})


@dataclass(frozen=True)
class CodeFacts:
    """One source, read once."""

    words: frozenset[str]
    """Every identifier, type and qualifier outside comments and strings."""
    called: frozenset[str]
    """Last names of what is called."""
    arrays: tuple[Array, ...]
    steps: tuple[Step, ...]
    assignments: tuple[Assignment, ...]
    subscripts: tuple[tuple[str, str], ...]
    """Array and index of every subscript."""
    pointers: frozenset[str]
    """Parameters of kernels that point somewhere, and local names made from them."""
    types: tuple[str, ...]
    """Types that are cast to, and those of declarations and parameters."""
    pragmas: tuple[str, ...]
    assembly: str
    grid_names: frozenset[str]
    """Names whose value comes from `gridDim`."""
    block_names: frozenset[str]
    """Names whose value comes from `blockDim`, and not from `gridDim`."""
    has_launch_bounds: bool
    num_scratch: int

    def points_at_vectors(self) -> bool:
        return any(_VECTOR_POINTER.search(name) for name in self.types)

    def steps_by_the_grid(self) -> bool:
        return any(mentions(step.by, self.grid_names | {"gridDim"}) for step in self.steps)

    def steps_by_the_block(self) -> bool:
        return any(self._is_block_step(step) for step in self.steps)

    def _is_block_step(self, step: Step) -> bool:
        if mentions(step.by, self.grid_names | {"gridDim"}):
            return False
        wide = step.by.isdigit() and int(step.by) >= 64 and mentions(step.start, frozenset({"threadIdx"}))
        return wide or mentions(step.by, self.block_names | {"blockDim"})

    def steps_by_the_warp(self) -> bool:
        """By 32 from the lane, or by 32 where lanes exchange what they found."""
        lanes = frozenset(a.target for a in self.assignments if _LANE.search(a.value))
        return any(
            step.by in _WARP_STEP
            and (mentions(step.start, lanes | {"threadIdx"}) or self.exchanges_in_the_warp())
            for step in self.steps
        )

    def stages_through_shared_memory(self) -> bool:
        """Values of global memory are put into a shared array that is not merely summed up."""
        return bool(self._staged_arrays() - self._combined_arrays())

    def _staged_arrays(self) -> frozenset[str]:
        shared = self._shared_names()
        loaded = self._loaded_names()
        staged = {
            a.array
            for a in self.assignments
            if a.array in shared and (self._loads(a) or mentions(a.value, loaded))
        }
        tiles = {array.name for array in self.arrays if array.is_shared and len(array.extents) > 1}
        return frozenset(staged | tiles | (shared if self.copies_asynchronously() else frozenset()))

    def _loads(self, assignment: Assignment) -> bool:
        return any(name in self.pointers for name in re.findall(r"(\w+)\s*[\[)]", assignment.value))

    def _loaded_names(self) -> frozenset[str]:
        """Local values that come from global memory as they are; sums and maxima over it are not."""
        plain = {a.target for a in self.assignments if a.operator == "=" and self._loads(a)}
        changed = {
            a.target
            for a in self.assignments
            if a.operator != "=" or mentions(a.value, frozenset({a.target}))
        }
        return frozenset(plain - changed)

    def combines_in_shared_memory(self) -> bool:
        return bool(self._combined_arrays()) or bool(self._shared_names() - self._staged_arrays())

    def _combined_arrays(self) -> frozenset[str]:
        """Shared arrays whose elements are made from other elements of the same array."""
        shared = self._shared_names()
        return frozenset(
            a.array for a in self.assignments if a.array in shared and a.in_loop and _reads_another_element(a)
        )

    def _shared_names(self) -> frozenset[str]:
        """Shared arrays; of one that is divided by pointers into it, the parts."""
        names = {array.name for array in self.arrays if array.is_shared}
        divisions = [
            (a.target.lstrip("* "), names & set(re.findall(r"\w+", a.value)))
            for a in self.assignments
            if a.target.startswith("*")
        ]
        parts = {part for part, whole in divisions if whole}
        divided = {name for _, whole in divisions for name in whole}
        return frozenset(parts | names - divided)

    def pads_shared_rows(self) -> bool:
        return any(a.is_shared and len(a.extents) > 1 and _is_padded(a) for a in self.arrays)

    def swizzles_shared_memory(self) -> bool:
        shared = self._shared_names()
        return any(
            name in shared and "^" in index and not _ALTERNATES.search(index)
            for name, index in self.subscripts
        )

    def alternates_shared_buffers(self) -> bool:
        """A shared array of two parts, of which one is filled while the other is read."""
        pairs = {a.name for a in self.arrays if a.is_shared and len(a.extents) > 1 and a.extents[0] == "2"}
        return any(name in pairs and _ALTERNATES.search(index) for name, index in self.subscripts)

    def exchanges_in_the_warp(self) -> bool:
        groups = "cooperative_groups" in self.words and "reduce" in self.called
        return groups or any(_WARP_EXCHANGE.match(name) for name in self.called)

    def accumulates_in_a_local_array(self) -> bool:
        local = self._local_names()
        return any(
            a.array in local and (a.operator == "+=" or re.search(rf"\b{re.escape(a.array)}\s*\[", a.value))
            for a in self.assignments
        )

    def keeps_values_in_a_local_array(self) -> bool:
        return bool(self._local_names()) and not self.accumulates_in_a_local_array()

    def _local_names(self) -> frozenset[str]:
        return frozenset(a.name for a in self.arrays if not a.is_shared and a.extents and a.extents[0])

    def asks_for_unrolling(self) -> bool:
        return any(re.match(r"unroll\b(?!\s*\(?1\)?\s*$)", pragma) for pragma in self.pragmas)

    def promises_no_aliasing(self) -> bool:
        return bool(self.words & {"__restrict__", "__restrict", "restrict"}) or "__ldg" in self.called

    def has_constant_memory(self) -> bool:
        return "__constant__" in self.words

    def corrects_running_statistics(self) -> bool:
        """A sum that is rescaled when the maximum grows, or a mean that is moved by each value."""
        factors = frozenset(a.target for a in self.assignments if _is_correction(a.value))
        return any(
            a.in_loop and (_rescales(a, factors) or _moves_mean(a, self.assignments))
            for a in self.assignments
        )

    def passes_results_between_launches(self) -> bool:
        return self.num_scratch > 0

    def computes_on_pairs_of_halves(self) -> bool:
        return any(_PAIR_OF_HALVES.match(word) for word in self.words)

    def multiplies_on_tensor_cores(self) -> bool:
        return bool(self.words & {"wmma", "mma_sync"}) or bool(re.search(r"\bw?g?mma\.", self.assembly))

    def adds_atomically(self) -> bool:
        return any(name.startswith(("atomic", "red_")) for name in self.called)

    def bounds_the_launch(self) -> bool:
        return self.has_launch_bounds

    def uses_fast_math(self) -> bool:
        return any(_FAST_MATH.match(name) for name in self.called)

    def copies_asynchronously(self) -> bool:
        return bool(self.called & _ASYNC_COPY) or "cp.async" in self.assembly


def _is_padded(array: Array) -> bool:
    """`[32][33]`, `[TILE][TILE + 1]`, rows of 36 floats or 34 halves; other sums are borders of a tile."""
    extent = array.extents[-1]
    if not extent.isdigit():
        return bool(re.search(r"\+\s*(?:[148]|PAD\w*)\b\s*\)?$", extent, re.IGNORECASE))
    size = int(extent)
    is_half = bool(re.search(r"half|bfloat16", array.type))
    return size > 8 and (size % 8 == 1 or (size > 32 and size % 32 == 4) or (is_half and size % 8 == 2))


def _reads_another_element(assignment: Assignment) -> bool:
    """`s[t] += s[t + half]`, but not `s[t] = 2 * s[t]`."""
    rest = assignment.value.replace(assignment.target, "")
    return bool(re.search(rf"\b{re.escape(assignment.array)}\s*\[", rest))


def _is_correction(value: str) -> bool:
    """`exp(old - new)`."""
    return bool(_EXPONENTIAL.search(value)) and "-" in value


def _rescales(assignment: Assignment, factors: frozenset[str]) -> bool:
    """`sum = sum * exp(old - new) + ...`, or `sum *= exp(old - new)`; the factor may have a name."""
    value, target = assignment.value, re.escape(assignment.target)
    if not (_is_correction(value) or mentions(value, factors)):
        return False
    if assignment.operator == "*=":
        return True
    return assignment.operator == "=" and bool(
        re.search(rf"(?<!\w){target}\s*\*|\*\s*{target}(?!\w)|fmaf?\(\s*{target}\s*,", value)
    )


def _moves_mean(assignment: Assignment, all_assignments: tuple[Assignment, ...]) -> bool:
    """`mean += delta / count`, where `delta` is a value less the mean."""
    if assignment.operator != "+=" or not re.search(r"/|\*\s*\w*(?:inv|rcp)", assignment.value):
        return False
    less_mean = re.compile(rf"-\s*{re.escape(assignment.target)}(?!\w)")
    deltas = {other.target for other in all_assignments if less_mean.search(other.value)}
    return bool(less_mean.search(assignment.value)) or mentions(assignment.value, frozenset(deltas))


@lru_cache(maxsize=32)
def read_facts(source: str) -> CodeFacts:
    """The facts of one source; several askers share one reading. Of an overlong one there are none."""
    root = parse(source if len(source) <= MAX_READ_CHARS else "")
    nodes = list(walk(root))
    assignments = tuple(read_assignments(nodes))
    grid, block = size_names(assignments)
    return CodeFacts(
        words=frozenset(
            text(node) for node in nodes if node.type in WORD_NODES or node.type.startswith("__")
        ),
        called=frozenset(call.name for call in calls(root)),
        arrays=tuple(read_arrays(nodes)),
        steps=tuple(read_steps(nodes)),
        assignments=assignments,
        subscripts=tuple(read_subscripts(nodes)),
        pointers=read_pointers(root, assignments),
        types=tuple(read_types(nodes)),
        pragmas=tuple(text(node).strip() for node in nodes if node.type == "preproc_arg"),
        assembly=" ".join(text(node) for node in nodes if node.type == "gnu_asm_expression"),
        grid_names=grid,
        block_names=block - grid,
        has_launch_bounds=any(node.type == "launch_bounds" for node in nodes)
        or "__launch_bounds__" in source,
        num_scratch=count_scratch(source),
    )
