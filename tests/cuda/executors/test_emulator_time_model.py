"""The modelled time moves in the directions that physics gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from emulator_support import counters_of, launch

from coding_framework.cuda.executors.base import LaunchCounters
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.occupancy import occupancy
from coding_framework.cuda.executors.emulator.time_model import modelled_time_us, profile_from_counters
from coding_framework.records.compilation import KernelResources

F32 = np.float32


def _counters(**changes: object) -> LaunchCounters:
    base = LaunchCounters(
        kernel="k",
        grid=(4096, 1, 1),
        block=(256, 1, 1),
        dynamic_shared_bytes=0,
        warp_instructions=32768 * 20,
        lane_instructions=32768 * 20 * 32,
        by_class={"fp32": 32768 * 5, "int": 32768 * 8, "global": 32768 * 3, "control": 32768 * 4},
        global_requests=32768 * 3,
        global_sectors=32768 * 12,
        global_load_sectors=32768 * 8,
        global_store_sectors=32768 * 4,
        global_useful_bytes=32768 * 12 * 32,
        unique_sectors=32768 * 12,
        max_warp_instructions=20,
        path_clocks=16 * 5.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _resources(registers: int) -> KernelResources:
    return KernelResources(kernel="k", registers=registers)


def _time(counters: LaunchCounters, registers: int = 32) -> float:
    return modelled_time_us(counters, _resources(registers), H200).total_us


def test_nothing_is_faster_than_its_bytes_and_its_launch() -> None:
    estimate = modelled_time_us(_counters(), None, H200)
    assert estimate.total_us >= H200.launch_us + estimate.dram_us
    assert estimate.dram_bytes == 32768 * 12 * 32
    assert estimate.limiter == "memory"


@pytest.mark.parametrize("name", ["global_sectors", "unique_sectors", "shared_passes", "global_requests"])
def test_less_traffic_is_never_slower(name: str) -> None:
    times = [_time(_counters(**{name: count})) for count in (10**4, 10**5, 10**6, 10**7)]
    assert times == sorted(times)
    assert times[0] < times[-1]


def test_more_instructions_are_never_faster() -> None:
    def at(n: int) -> float:
        return _time(
            _counters(by_class={"special": n}, warp_instructions=n, path_clocks=(n // 32768 + 1) * 20.0)
        )

    times = [at(n) for n in (10**5, 10**6, 10**7, 10**8)]
    assert times == sorted(times)


def test_more_occupancy_is_never_slower() -> None:
    long = _counters(path_clocks=4000 * 4.0, warp_instructions=32768 * 4000, by_class={"fp32": 32768 * 4000})
    times = [_time(long, registers) for registers in (24, 32, 64, 128, 255)]
    assert times == sorted(times)
    assert times[0] < times[-1]


def _spilling(stores: int, loads: int, *, registers: int = 32, frame: int | None = None) -> KernelResources:
    return KernelResources(
        kernel="k",
        registers=registers,
        local_bytes=stores if frame is None else frame,
        spill_store_bytes=stores,
        spill_load_bytes=loads,
    )


LONG = {"path_clocks": 4000 * 4.0, "warp_instructions": 32768 * 4000, "by_class": {"fp32": 32768 * 4000}}


@pytest.mark.parametrize("words", [1, 20, 96, 400])
def test_a_limit_on_registers_that_spills_gains_nothing(words: int) -> None:
    whole = _time(_counters(**LONG), min(32 + words, 255))
    limited = modelled_time_us(_counters(**LONG), _spilling(4 * words, 4 * words), H200)
    assert limited.total_us > whole
    assert limited.occupancy.share == 1.0  # what the profile tells is the kernel's own


def test_more_spills_are_slower() -> None:
    times = [
        modelled_time_us(_counters(**LONG), _spilling(bytes_, bytes_, registers=255), H200).total_us
        for bytes_ in (0, 8, 64, 1024, 8192)
    ]
    assert times == sorted(times)
    assert len({*times}) == len(times)


def test_arrays_in_the_frame_are_no_spilled_registers() -> None:
    plain = modelled_time_us(_counters(**LONG), _spilling(0, 0), H200)
    with_array = modelled_time_us(_counters(**LONG), _spilling(0, 0, frame=4096), H200)
    assert with_array == plain


def test_what_spills_is_in_the_work_of_the_largest_block_too() -> None:
    one_block = _counters(grid=(1, 1, 1), by_class={"fp32": 8}, path_clocks=4.0, global_sectors=0)
    spilling = modelled_time_us(one_block, _spilling(4096, 4096), H200)
    assert spilling.compute_us > 8 * 2048 / H200.issue_per_clock / H200.clock_ghz / 1e3


def test_occupancy_by_each_limit() -> None:
    assert occupancy(256, 32, 0, H200).share == 1.0
    by_registers = occupancy(256, 128, 0, H200)
    assert (by_registers.blocks_per_sm, by_registers.limited_by) == (2, "registers")
    by_shared = occupancy(128, 32, 100 * 1024, H200)
    assert (by_shared.blocks_per_sm, by_shared.limited_by) == (2, "shared memory")
    by_blocks = occupancy(32, 16, 0, H200)
    assert (by_blocks.warps_per_sm, by_blocks.limited_by) == (32, "blocks")
    assert occupancy(1024, None, 0, H200).limited_by == "warps"


TRANSPOSE = """
extern "C" __global__ void naive(const float* x, float* o, int n) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) o[c * n + r + j] = x[(r + j) * n + c];
}
extern "C" __global__ void tiled(const float* x, float* o, int n) {
  __shared__ float t[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = x[(r + j) * n + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) o[(r + j) * n + c] = t[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void conflicts(const float* x, float* o, int n) {
  __shared__ float t[32][32];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = x[(r + j) * n + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) o[(r + j) * n + c] = t[threadIdx.x][threadIdx.y + j];
}"""


def test_a_coalesced_transpose_beats_the_naive_one_and_padding_beats_conflicts() -> None:
    buffers = {"x": np.zeros(512 * 512, F32), "o": np.zeros(512 * 512, F32)}
    times = {}
    for name in ("naive", "tiled", "conflicts"):
        counters = counters_of(TRANSPOSE, launch(name, (16, 16), (32, 8), "x", "o", 512), buffers)
        times[name], report = profile_from_counters([counters], [], H200)
        if name == "naive":
            assert report.coalescing_efficiency < 0.3
            assert "neighbouring" in report.bottleneck
        assert (report.bank_conflicts_per_access > 1) == (name == "conflicts")
    assert times["tiled"] < times["conflicts"]
    assert times["tiled"] < times["naive"]


MATMULS = """
extern "C" __global__ void naive(const float* a, const float* b, float* c, int n) {
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float s = 0;
  for (int i = 0; i < n; i++) s += a[row * n + i] * b[i * n + col];
  c[row * n + col] = s;
}
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float s = 0;
  for (int t = 0; t < n; t += 16) {
    as[y][x] = a[row * n + t + x]; bs[y][x] = b[(t + y) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; i++) s += as[y][i] * bs[i][x];
    __syncthreads();
  }
  c[row * n + col] = s;
}"""


def test_a_tiled_matrix_product_beats_the_naive_one() -> None:
    n = 128
    buffers = {name: np.ones(n * n, F32) for name in "abc"}
    estimates = {
        name: modelled_time_us(
            counters_of(MATMULS, launch(name, (8, 8), (16, 16), "a", "b", "c", n), buffers), None, H200
        )
        for name in ("naive", "tiled")
    }
    assert estimates["tiled"].total_us < estimates["naive"].total_us
    assert estimates["tiled"].cache_us < estimates["naive"].cache_us


@pytest.mark.parametrize(
    ("changes", "limiter", "words"),
    [
        ({}, "memory", "near ideal"),
        ({"unique_sectors": 32768, "global_sectors": 32768 * 40, "global_useful_bytes": 32768 * 40 * 32}, "memory", "reuse data"),  # noqa: E501
        ({"shared_passes": 10**8, "shared_accesses": 10**7}, "shared memory", "rows by one element"),
        ({"by_class": {"special": 10**8}, "warp_instructions": 10**8}, "compute", "special"),
        (
            {"grid": (4, 1, 1), "by_class": {"global": 32000}, "warp_instructions": 32000,
             "path_clocks": 50000.0, "global_sectors": 32000, "unique_sectors": 32000},
            "latency",
            "use more blocks",
        ),
        (
            {"grid": (1, 1, 1), "by_class": {"int": 80}, "warp_instructions": 80, "path_clocks": 45.0,
             "global_sectors": 8, "unique_sectors": 8, "global_requests": 2},
            "launch",
            "fewer launches",
        ),
    ],
)  # fmt: skip
def test_the_report_names_what_bounds_the_kernel(
    changes: dict[str, object], limiter: str, words: str
) -> None:
    total, report = profile_from_counters([_counters(**changes)], [_resources(32)], H200)
    assert report.limiter == limiter, report.bottleneck
    assert words in report.bottleneck
    assert total > H200.launch_us
    assert report.source == "emulator"


def test_latency_remedies_depend_on_occupancy() -> None:
    chain = {
        "by_class": {"int": 4096 * 8 * 5000},
        "warp_instructions": 4096 * 8 * 5000,
        "path_clocks": 90000 * 4.5,
    }
    _, low = profile_from_counters([_counters(**chain)], [_resources(255)], H200)
    _, high = profile_from_counters([_counters(**chain)], [_resources(32)], H200)
    assert "limited by registers" in low.bottleneck
    assert "serial chain" in high.bottleneck


def test_launches_add_up_and_none_is_refused() -> None:
    one, _ = profile_from_counters([_counters()], [], H200)
    two, report = profile_from_counters([_counters(), _counters()], [], H200)
    assert two == pytest.approx(2 * one)
    assert report.instructions == 2 * _counters().warp_instructions
    with pytest.raises(ValueError, match="at least one launch"):
        profile_from_counters([], [], H200)


def test_data_beyond_l2_is_fetched_again() -> None:
    big = _counters(unique_sectors=10**7, global_sectors=3 * 10**7)
    assert modelled_time_us(big, None, H200).dram_bytes > 10**7 * 32
