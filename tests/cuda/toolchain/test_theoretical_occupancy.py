"""Occupancy by the vendor's rules, worked out by hand."""

from __future__ import annotations

import pytest

from coding_framework.cuda.toolchain.occupancy import (
    limits_of,
    most_threads,
    occupancy,
    theoretical_occupancy,
)
from coding_framework.records import KernelResources


@pytest.mark.parametrize(
    ("registers", "shared_bytes", "expected"),
    [
        (32, 0, {32: 0.5, 64: 1.0, 128: 1.0, 256: 1.0, 512: 1.0, 1024: 1.0}),  # 32 blocks of one warp
        (40, 0, {32: 0.5, 64: 0.75, 128: 0.75, 256: 0.75, 512: 0.75, 1024: 0.5}),  # 51 warps fit: 48
        (128, 0, {32: 0.25, 64: 0.25, 128: 0.25, 256: 0.25, 512: 0.25, 1024: 0.0}),  # 16 warps, not 32
        (255, 0, {32: 0.125, 64: 0.125, 128: 0.125, 256: 0.125, 512: 0.0, 1024: 0.0}),
        (
            16,
            48 * 1024,
            {32: 4 / 64, 64: 8 / 64, 128: 0.25, 256: 0.5, 512: 1.0, 1024: 1.0},
        ),  # 4 blocks of 49 KiB
    ],
)
def test_an_h200_holds_what_the_calculator_says(
    registers: int, shared_bytes: int, expected: dict[int, float]
) -> None:
    assert theoretical_occupancy(registers, shared_bytes, "sm_90") == expected


def test_other_architectures_have_other_limits() -> None:
    assert theoretical_occupancy(32, 0, "sm_86")[1024] == pytest.approx(32 / 48)
    assert theoretical_occupancy(32, 0, "sm_90a") == theoretical_occupancy(32, 0, "sm_90")


def test_an_unknown_architecture_has_no_figures() -> None:
    assert theoretical_occupancy(32, 0, "sm_999") == {}
    assert limits_of("not an architecture") is None


def test_a_kernel_that_runs_has_one_block_at_the_least() -> None:
    limits = limits_of("sm_90")
    assert limits is not None
    assert occupancy(1024, 128, 0, limits).blocks_per_sm == 1


@pytest.mark.parametrize(("registers", "most"), [(10, 1024), (64, 1024), (72, 896), (73, 768), (255, 256)])
def test_a_block_is_as_large_as_its_registers_allow(registers: int, most: int) -> None:
    limits = limits_of("sm_90")
    assert limits is not None
    assert most_threads(registers, limits) == most


def test_register_pressure_is_a_share_of_what_a_thread_can_have() -> None:
    assert KernelResources(kernel="k", registers=51).register_pressure == pytest.approx(0.2)
    assert KernelResources(kernel="k", registers=255).register_pressure == 1.0
