"""Which counters are read with Nsight Compute, and what its CSV says about each launch.

`ncu --csv --page raw` prints one row of names, one row of units and one row for each launch, between
lines of its own; numbers have thousands separators. A counter that the device lacks is left out or
empty: it is then missing here, and never zero.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

TIME = "gpu__time_duration.sum"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
DRAM_SHARE = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
L2_SHARE = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
SM_SHARE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
TENSOR_SHARE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
ACHIEVED_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
THEORETICAL_OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
INSTRUCTIONS = "smsp__inst_executed.sum"
LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
LOAD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
STORE_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
LOAD_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
STORE_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"
SHARED_INSTRUCTIONS = "smsp__sass_inst_executed_op_shared.sum"
SHARED_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
SHARED_SHARE = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"
GRID_SIZE = "launch__grid_size"
BLOCK_SIZE = "launch__block_size"
NUM_SMS = "launch__sm_count"
LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared memory": "launch__occupancy_limit_shared_mem",
    "warps of the block": "launch__occupancy_limit_warps",
    "blocks": "launch__occupancy_limit_blocks",
}
"""Blocks that an SM could hold if this alone were the limit."""

STALLS = {
    "barrier": "waiting at a barrier",
    "branch_resolving": "branches",
    "dispatch_stall": "dispatch",
    "drain": "draining stores at the end",
    "gmma": "tensor cores",
    "imc_miss": "constants not in the cache",
    "lg_throttle": "too many global accesses in flight",
    "long_scoreboard": "global or local memory",
    "math_pipe_throttle": "busy arithmetic units",
    "membar": "memory fences",
    "mio_throttle": "too many shared-memory or special instructions",
    "misc": "other reasons",
    "no_instruction": "fetching instructions",
    "short_scoreboard": "shared memory or special functions",
    "sleeping": "sleeping",
    "tex_throttle": "the texture unit",
    "wait": "fixed latencies of arithmetic",
}
"""Reasons for which a warp cannot issue, in words; being chosen or waiting one's turn is not one."""

REQUIRED = (TIME, DRAM_READ, DRAM_WRITTEN, DRAM_SHARE, SM_SHARE, THEORETICAL_OCCUPANCY, INSTRUCTIONS, LANES)
"""Without these there is no report."""
ALIASES = {DRAM_SHARE: "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"}
"""The same figure under the name that sections of `ncu --set` give it."""


def stall_metric(reason: str) -> str:
    """The counter of one reason: warps waiting for it, for each instruction issued."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


REQUESTED = (
    *REQUIRED,
    *(L2_SHARE, TENSOR_SHARE, ACHIEVED_OCCUPANCY, LOAD_REQUESTS, STORE_REQUESTS, LOAD_SECTORS, STORE_SECTORS),
    *(LOAD_BYTES_PER_SECTOR, STORE_BYTES_PER_SECTOR, SHARED_INSTRUCTIONS, SHARED_CONFLICTS, SHARED_SHARE),
    *(GRID_SIZE, BLOCK_SIZE, NUM_SMS, *LIMITS.values()),
    *(stall_metric(reason) for reason in STALLS),
)
"""Everything asked for."""

_SCALES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIMES = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIMES |= {"nsecond": 1.0, "usecond": 1e3, "msecond": 1e6, "second": 1e9}


class UnreadableProfile(ValueError):
    """The text is not what Nsight Compute prints."""


@dataclass(frozen=True)
class LaunchMetrics:
    """The counters of one launch, in base units: bytes, nanoseconds, percent, counts."""

    kernel: str
    values: dict[str, float]

    def get(self, name: str, default: float = 0.0) -> float:
        return self.values.get(name, default)


def parse_csv(output: str) -> tuple[LaunchMetrics, ...]:
    """Every profiled launch, in order; none if nothing was profiled."""
    rows = list(csv.reader(line for line in output.splitlines() if line.startswith('"')))
    if not rows:
        return ()
    names, *rest = rows
    if "Kernel Name" not in names or not rest:
        raise UnreadableProfile("the first row of the CSV does not name the kernel and its counters")
    units, *launches = rest
    return tuple(_launch(names, units, row) for row in launches if len(row) == len(names))


def _launch(names: list[str], units: list[str], row: list[str]) -> LaunchMetrics:
    values = {
        name: number
        for name, unit, text in zip(names, units, row, strict=True)
        if (number := _number(text, unit)) is not None
    }
    values |= {
        name: values[other] for name, other in ALIASES.items() if other in values and name not in values
    }
    return LaunchMetrics(kernel=row[names.index("Kernel Name")], values=values)


def _number(text: str, unit: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value * _scale(unit) if isfinite(value) else None


def _scale(unit: str) -> float:
    """Units come in multiples unless base units were asked for: `Kbyte`, `us`."""
    if unit in _TIMES:
        return _TIMES[unit]
    if len(unit) > 1 and unit[0] in _SCALES and unit[1:].startswith(("byte", "inst", "sector", "cycle")):
        return _SCALES[unit[0]]
    return 1.0


def missing_metrics(launches: Iterable[LaunchMetrics]) -> tuple[str, ...]:
    """Required counters that some launch lacks."""
    found = list(launches)
    return tuple(name for name in REQUIRED if any(name not in launch.values for launch in found))
