"""The source of the judge's own kernels; apart from `harness.py`, which needs a driver."""

from __future__ import annotations

from importlib.resources import files


def harness_source() -> str:
    """The CUDA source; compiled by the judge's own compiler, once for a machine."""
    return files(__package__).joinpath("harness.cu").read_text(encoding="utf-8")
