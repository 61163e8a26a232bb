"""What crosses between the judge, the process that runs a candidate, and the one that verifies it.

Plain data that pickles quickly. No message to the candidate's process holds an expected value or a
tolerance. The seed of a set of inputs reaches that process as the argument of our own fill kernel,
one independent seed for each set, so that knowing one tells nothing of the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, FaultKind, ResolvedLaunch

REFERENCE_EVERY = 3
"""The reference runs in every third timed call: it is the slower of the two, and is timed again with
every candidate."""
_THREADS_PER_SM = 2048
_HALVES = ("float16", "bfloat16")
_TENSOR_RATE = 16
"""How much faster dense tensor cores are with halves than the FP32 lanes."""
_PRODUCTS = 3
"""Of halves (or tf32) for one of numbers cut in two, without the product of the two small parts: some 16 bits
are right, as our budgets for float32 ask."""


@dataclass(frozen=True)
class DeviceFacts:
    """A card, as its driver describes it."""

    name: str
    uuid: str
    num_sms: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int
    l2_bytes: int
    memory_bytes: int

    @property
    def dram_bytes_per_us(self) -> float:
        """Peak bandwidth: two transfers in a clock."""
        return 2 * self.memory_clock_khz * 1e3 * self.memory_bus_bits / 8 / 1e6

    @property
    def arena_bytes(self) -> int:
        """What a process takes of the card's memory for timed calls, unless one task needs more."""
        return self.memory_bytes // 64

    @property
    def fair_bytes(self) -> int:
        """What any one process may ask for: where that much is not free, others have taken too much."""
        return self.memory_bytes // 8

    def stack_bytes(self, thread_bytes: int) -> int:
        """What the driver takes for so many bytes of local memory a thread, and keeps for good."""
        return thread_bytes * _THREADS_PER_SM * self.num_sms

    def least_us(self, *, moved_bytes: float, written_bytes: float) -> float:
        """For the bytes to come through DRAM; what was written may be in L2 still when the clock stops."""
        return (moved_bytes - min(written_bytes, self.l2_bytes)) / self.dram_bytes_per_us

    def operations_per_us(self, dtype: str) -> float:
        """Peak arithmetic: FP32 lanes for float32 and integers, dense tensor cores for the halves."""
        return self._lanes_per_us * (_TENSOR_RATE if dtype in _HALVES else 1)

    def most_operations_per_us(self, dtype: str) -> float:
        """What no kernel can beat: float32 may be cut into halves for the tensor cores."""
        return self._lanes_per_us * _TENSOR_RATE / (1 if dtype in _HALVES else _PRODUCTS)

    @property
    def _lanes_per_us(self) -> float:
        return 2 * 128 * self.num_sms * self.clock_khz * 1e3 / 1e6


@dataclass(frozen=True)
class RunAnswer:
    """Outcomes up to the first fault, and whether the process must be replaced."""

    outcomes: tuple[ExecutionOutcome, ...]
    is_poisoned: bool = False
    keeps_memory: bool = False
    """Whether the process holds much memory that only its end gives back."""

    @property
    def timed_out(self) -> bool:
        """Whether the limit is what ended it."""
        fault = self.outcomes[-1].fault if self.outcomes else None
        return fault is not None and fault.kind is FaultKind.TIMEOUT


@dataclass(frozen=True)
class Array:
    """A named buffer."""

    name: str
    dtype: str
    count: int
    row_length: int = 1
    """Elements of the last axis."""

    @property
    def num_bytes(self) -> int:
        return self.count * (2 if self.dtype.endswith("16") else 4)


@dataclass(frozen=True)
class InputSet:
    """The contents of one call, by seed."""

    place: int
    """Where in memory, modulo the number of places."""
    distributions: tuple[str, ...]
    """One for each input."""
    seeds: tuple[int, ...]
    """One for each input."""
    key: int
    """Key of the checksums that show whether arrays were changed."""
    poison: int
    """What the output looks like before the call."""


@dataclass(frozen=True)
class Program:
    """A binary with the launches of its plan."""

    ptx: str
    cubin: bytes
    launches: tuple[ResolvedLaunch, ...]
    scratch: tuple[Array, ...]


@dataclass(frozen=True)
class MeasureRequest:
    """Time a candidate beside the reference."""

    device_index: int
    harness_cubin: bytes
    candidate: Program
    reference: Program
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    sets: tuple[InputSet, ...]
    """One call each, the warm-up calls among them."""
    num_slots: int = 1
    """Places in memory that buffers take in turn; the candidate's outputs have one for each call."""
    is_trial: bool = False
    """One call, in whatever context there is, that says whether the others are worth making; never timed."""
    least_calls: int = 0
    """So many are made of a slow kernel, whatever they take."""
    limit_s: float = math.inf
    """Of the candidate's calls together."""
    enough_s: float = math.inf
    """Of the device's time; then no more calls are begun."""

    def slot(self, number: int) -> int:
        """Which of them a call has."""
        return self.sets[number].place % self.num_slots


@dataclass(frozen=True)
class OutputPlace:
    """Where the outputs of all sets lie in the shared arena."""

    offset: int
    stride: int


@dataclass(frozen=True)
class MeasureOutcome:
    """Times and where the outputs are; nothing here says whether they are right."""

    fault: ExecutionFault | None
    is_poisoned: bool = False
    candidate_us: tuple[float, ...] = ()
    reference_us: tuple[float, ...] = ()
    span_us: tuple[float, ...] = ()
    """Whole iterations with the reference, by device events."""
    wall_us: tuple[float, ...] = ()
    """The same iterations by the host's clock."""
    transfer_us: float | None = None
    arena: bytes = b""
    """IPC handle of the memory that holds the outputs."""
    arena_capacity: int = 0
    places: tuple[OutputPlace, ...] = ()
    sums: tuple[tuple[int, ...], ...] = ()
    """For each call, sealed checksums of every input and then every output right after it."""


@dataclass(frozen=True)
class VerifyRequest:
    """Are the outputs of all sets right?"""

    device_index: int
    harness_cubin: bytes
    task: Any
    dimensions: dict[str, int]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    sets: tuple[InputSet, ...]
    arena: bytes
    places: tuple[OutputPlace, ...]
    sums: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TorchBaselineRequest:
    """Time the task's formula as PyTorch runs it."""

    device_index: int
    harness_cubin: bytes
    task: Any
    dimensions: dict[str, int]
    inputs: tuple[Array, ...]
    sets: tuple[InputSet, ...]
    flush_bytes: int
    compiled: bool
    """Through `torch.compile`."""


@dataclass(frozen=True)
class WrongValue:
    """One wrong element."""

    output: str
    index: int
    expected: float
    actual: float


@dataclass(frozen=True)
class SetResult:
    """The verdict on one set."""

    num_wrong: int
    max_error_ratio: float
    changed_input: str | None
    """An input that the candidate wrote to."""
    late_output: str | None
    """An output that changed after its call had ended."""
    wrong: tuple[WrongValue, ...] = field(default=())
