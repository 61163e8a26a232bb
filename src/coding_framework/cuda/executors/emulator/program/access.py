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
    volatile: bool = False
    """Volatile, relaxed and stronger accesses are not plain: they do not take part in races."""
    read_only: bool = False
    """`ld.global.nc`."""
    operation: str = ""
    """The atomic operation."""

    @property
    def element_bytes(self) -> int:
        return size_of(self.dtype)

    @property
    def num_bytes(self) -> int:
        return self.element_bytes * self.count
