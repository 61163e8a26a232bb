"""What a memory instruction asks for: one record that the generated code hands to the machine."""

from __future__ import annotations

from dataclasses import dataclass

from coding_framework.cuda.executors.emulator.dtypes import size_of


@dataclass(frozen=True)
class Access:
    """A load, store or atomic of one element or a small vector."""

    space: str
    """global, shared, local, const, param, or generic."""
    dtype: str
    """NumPy type of one element."""
    count: int
    """Elements of the vector: 1, 2 or 4."""
    line: int | None
    text: str
    is_strong: bool = False
    """Volatile, relaxed and stronger: not plain, so it takes no part in races in device memory."""
    is_ordered: bool = False
    """Relaxed and stronger: takes no part in races in shared memory either, where `volatile` does."""
    is_release: bool = False
    """Has a fence of its own before it."""
    read_only: bool = False
    """`ld.global.nc`."""
    operation: str = ""
    """The atomic operation."""
    num_lanes: int = 32
    """The first lanes of a warp, which alone give addresses; fewer than all in an `ldmatrix`."""

    @property
    def element_bytes(self) -> int:
        return size_of(self.dtype)

    @property
    def num_bytes(self) -> int:
        return self.element_bytes * self.count
