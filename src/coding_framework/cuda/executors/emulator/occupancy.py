"""The occupancy that the time model uses is the compiler's own arithmetic."""

from coding_framework.cuda.toolchain.occupancy import DEFAULT_REGISTERS, Occupancy, occupancy

__all__ = ["DEFAULT_REGISTERS", "Occupancy", "occupancy"]
