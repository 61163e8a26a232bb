"""The figures of a GPU that the time model divides by, each with where it comes from.

Sources: [H200] NVIDIA H200 data sheet; [H100] NVIDIA H100 architecture white paper; [CC9.0] CUDA C++
Programming Guide, compute capability 9.0: limits and "arithmetic instructions" throughput tables;
[est] an estimate of the size that published microbenchmarks of Hopper find; [fit] fitted by hand to
the 31 kernels of the catalogue on an H200 (cold L2, CUDA events): the model is then within 0.7 and
1.3 of the measured time for each of them. It is a fit to these kernels, not a promise for others.
"""

from __future__ import annotations

from pydantic import Field

from coding_framework.records.base import Record
from coding_framework.records.task import DType


class DeviceModel(Record):
    """One GPU, as far as the time model sees it."""

    name: str
    """What reports call it."""
    num_sms: int = Field(gt=0)
    """Streaming multiprocessors."""
    clock_ghz: float = Field(gt=0)
    """Sustained clock under load."""
    dram_tb_per_s: float = Field(gt=0)
    """DRAM bandwidth that a good copy reaches."""
    dram_peak_tb_per_s: float = Field(gt=0)
    """DRAM bandwidth on paper."""
    l2_tb_per_s: float = Field(gt=0)
    """Bandwidth between L2 and the SMs."""
    l2_bytes: int = Field(gt=0)
    """Capacity of L2."""
    shared_bytes_per_sm: int = Field(gt=0)
    """Shared memory that the blocks of an SM may hold together, their reserved kilobytes included."""
    reserved_shared_bytes: int = Field(ge=0)
    """Shared memory the system keeps for itself in every block."""
    max_warps_per_sm: int = Field(gt=0)
    """Resident warps."""
    max_blocks_per_sm: int = Field(gt=0)
    """Resident blocks."""
    registers_per_sm: int = Field(gt=0)
    """32-bit registers."""
    register_granule: int = Field(gt=0)
    """Registers are handed to a warp in multiples of this."""
    launch_us: float = Field(gt=0)
    """Time from one kernel's end to the next one's first instruction, in one stream."""
    issue_per_clock: float = Field(gt=0)
    """Warp instructions an SM issues in a clock."""
    lanes_per_clock: dict[str, float]
    """Lanes of an SM that a class of instruction serves in a clock."""
    l1_bytes_per_clock: float = Field(gt=0)
    """Bytes that L1 or shared memory of an SM moves in a clock."""
    latency_clocks: dict[str, float]
    """Clocks until the next dependent instruction of a warp may issue, by class."""
    sector_clocks: float = Field(ge=0)
    """Further clocks for each sector of a global access: lanes that spread out are served in turn."""
    new_sector_clocks: float = Field(ge=0)
    """Further clocks for each sector that comes from DRAM."""
    sector_atomic_clocks: float = Field(ge=0)
    """Clocks between two warps' atomics on one sector: its slice of L2 serves them in turn."""
    request_clocks: float = Field(ge=0)
    """Clocks of an SM for each access that brings new sectors: wide loads need fewer of them."""

    def latency_of(self, kind: str) -> float:
        """Clocks of an instruction of a class; those of a class without an entry are like most."""
        return self.latency_clocks.get(kind, 4.0)

    def floor_us(self, *, bytes_moved: int, operations: int, dtype: DType = "float32") -> float:
        """The least time in which these bytes can pass the DRAM and these operations the FP32 lanes.

        Halves have the dense tensor cores, sixteen times as wide.
        """
        operations_per_us = 2 * self.lanes_per_clock["fp32"] * self.num_sms * self.clock_ghz * 1e3
        operations_per_us *= 16 if dtype in ("float16", "bfloat16") else 1
        return max(bytes_moved / (self.dram_peak_tb_per_s * 1e6), operations / operations_per_us)


H200 = DeviceModel(
    name="NVIDIA H200 (model)",
    num_sms=132,  # [H200], [H100] SXM5
    clock_ghz=1.755,  # [H100] base boost of the SXM part; 1.98 at most
    dram_tb_per_s=4.0,  # [est] some 83 % of the peak
    dram_peak_tb_per_s=4.8,  # [H200]
    l2_tb_per_s=5.5,  # [est]
    l2_bytes=50 * 1024 * 1024,  # [H100]
    shared_bytes_per_sm=228 * 1024,  # [CC9.0]
    reserved_shared_bytes=1024,  # [CC9.0] why a block gets 227 KB
    max_warps_per_sm=64,  # [CC9.0]
    max_blocks_per_sm=32,  # [CC9.0]
    registers_per_sm=65536,  # [CC9.0]
    register_granule=256,  # [CC9.0] occupancy calculator
    launch_us=4.0,  # [fit] between the events around an empty launch
    issue_per_clock=4.0,  # [H100] four schedulers
    lanes_per_clock={  # [CC9.0]
        "fp32": 128.0,
        "fp64": 64.0,
        "fp16": 128.0,
        "int": 64.0,
        "special": 16.0,
        "convert": 64.0,
        "shuffle": 32.0,
        "global": 32.0,
        "shared": 32.0,
        "local": 32.0,
        "atomic": 16.0,  # [est]
        "tensor": 16.0,  # [H100] two clocks for 16 x 16 x 16 halves, or 16 x 16 x 8 tf32 at half the rate
    },
    l1_bytes_per_clock=128.0,  # [H100]
    latency_clocks={  # [est]
        "fp32": 4.0,
        "fp64": 8.0,
        "fp16": 4.0,
        "int": 4.5,
        "special": 20.0,
        "convert": 8.0,
        "control": 6.0,
        "move": 1.0,
        "shuffle": 24.0,
        "shared": 12.0,  # some 24, of which two overlap
        "local": 40.0,
        "global": 50.0,  # [fit] a hit in L1 or L2, some loads overlapping
        "atomic": 350.0,
        "barrier": 24.0,
        "tensor": 33.0,
    },
    sector_clocks=0.2,  # [fit]
    new_sector_clocks=16.0,  # [fit]
    sector_atomic_clocks=1.0,  # [est] the least: a request a clock and slice, a warp's lanes all at once
    request_clocks=2.0,  # [fit]
)
