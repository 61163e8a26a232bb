"""Nsight Compute's counters become a report; what cannot be profiled becomes words, never a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiler_support import DATA, recorded, stand_in

from coding_framework.cuda.profiler import NsightCompute, ToolUnavailable
from coding_framework.cuda.profiler import ncu as ncu_module
from coding_framework.cuda.profiler.ncu import options, read_run
from coding_framework.cuda.profiler.ncu_metrics import (
    DRAM_READ,
    REQUESTED,
    REQUIRED,
    TIME,
    LaunchMetrics,
    missing_metrics,
    parse_csv,
)
from coding_framework.cuda.profiler.ncu_report import build_report, stall_shares
from coding_framework.cuda.profiler.tools import ToolRun
from coding_framework.records import ProfileReport

OPEN_DRIVER = Path("/nowhere/params")


def report_of(name: str) -> ProfileReport:
    report = read_run(ToolRun(0, recorded(name)), timeout_s=60, uses_warp_shuffle=False)
    assert isinstance(report, ProfileReport), report
    return report


@pytest.mark.parametrize(
    ("name", "limiter", "roofline", "words"),
    [
        ("ncu_add", "memory", "memory", "4.0 sectors per request and 100% of the bytes moved are used"),
        ("ncu_row_sum", "memory", "neither", "let neighbouring threads touch neighbouring addresses"),
        ("ncu_conflicts", "shared memory", "neither", "31.00 extra passes per access"),
        ("ncu_arithmetic", "compute", "compute", "the arithmetic units at 96% of their peak"),
        ("ncu_lonely", "latency", "neither", "87% of the waiting is for global or local memory; use more"),
        ("ncu_race_full_set", "launch", "neither", "only 128 warp instructions"),
    ],
)
def test_the_limiter_and_the_words_follow_the_counters(
    name: str, limiter: str, roofline: str, words: str
) -> None:
    report = report_of(name)
    assert (report.limiter, report.roofline) == (limiter, roofline)
    assert words in report.bottleneck


def test_every_figure_of_a_vector_add_is_read() -> None:
    report = report_of("ncu_add")
    assert report.source == "ncu"
    assert report.instructions == 20 * 2**24 // 32
    assert report.occupancy == 1.0
    assert report.warp_execution_efficiency == 1.0
    assert report.sectors_per_request == 4.0
    assert report.dram_bytes == pytest.approx(3 * 4 * 2**24, rel=0.1)
    assert report.dram_throughput_share == pytest.approx(0.6769)
    assert report.l2_throughput_share == pytest.approx(0.8072)
    assert report.achieved_occupancy == pytest.approx(0.7389)
    assert next(iter(report.stall_reasons)) == "long_scoreboard"
    assert sum(report.stall_reasons.values()) == pytest.approx(1.0)
    assert not report.uses_shared_memory


def test_scattered_reads_and_bank_conflicts_are_counted() -> None:
    assert report_of("ncu_row_sum").sectors_per_request == pytest.approx(31.9, abs=0.1)
    assert report_of("ncu_row_sum").coalescing_efficiency == pytest.approx(0.125, abs=0.01)
    conflicts = report_of("ncu_conflicts")
    assert conflicts.bank_conflicts_per_access == pytest.approx(31.0, abs=0.1)
    assert conflicts.uses_shared_memory


def test_several_launches_are_added_and_weighted_by_their_times() -> None:
    both, first, second = report_of("ncu_two_launches"), report_of("ncu_row_sum"), report_of("ncu_add")
    assert both.instructions == first.instructions + second.instructions
    assert both.dram_bytes == pytest.approx(first.dram_bytes + second.dram_bytes, rel=0.05)
    assert first.dram_throughput_share < both.dram_throughput_share < second.dram_throughput_share
    assert first.sectors_per_request > both.sectors_per_request > second.sectors_per_request
    assert [launch.kernel for launch in parse_csv(recorded("ncu_two_launches"))] == ["row_sum", "add"]


def test_units_in_multiples_are_brought_to_base_units() -> None:
    names, units = f'"Kernel Name","{TIME}","{DRAM_READ}","n","empty"', '"","us","Mbyte","",""'
    (launch,) = parse_csv(f'{names}\n{units}\n"k","1,234.5","2","7","n/a"\n')
    assert launch.values == {TIME: 1_234_500.0, DRAM_READ: 2e6, "n": 7.0}


def test_a_counter_that_is_missing_is_not_zero() -> None:
    (launch,) = parse_csv(recorded("ncu_add"))
    fewer = LaunchMetrics(launch.kernel, {k: v for k, v in launch.values.items() if "lts__" not in k})
    report = build_report([fewer], uses_warp_shuffle=True)
    assert report.l2_throughput_share is None
    assert report.uses_warp_shuffle
    without = {k: v for k, v in launch.values.items() if k != DRAM_READ and "stalled" not in k}
    assert missing_metrics([launch, LaunchMetrics("k", without)]) == (DRAM_READ,)
    assert stall_shares([LaunchMetrics("k", without)]) == {}


def test_everything_that_a_report_needs_is_asked_for() -> None:
    assert set(REQUIRED) < set(REQUESTED)
    given = options(["my_kernel", "other"])
    assert "--kernel-name=regex:^(my_kernel|other)$" in given
    assert given[-2:] == ["--metrics", ",".join(REQUESTED)]
    assert not any(option.startswith("--kernel-name") for option in options([]))
    for name in ("ncu_add", "ncu_two_launches"):
        for launch in parse_csv(recorded(name)):
            assert not set(REQUESTED) - set(launch.values)


@pytest.mark.parametrize(
    ("run", "reason", "words"),
    [
        (ToolRun(0, recorded("ncu_nothing")), "nothing_profiled", "Available Kernels: | 1. add"),
        (
            ToolRun(1, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"),
            "forbidden",
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        (ToolRun(None, recorded("ncu_add")), "timeout", "stopped after 60 s"),
        (
            ToolRun(9, "==ERROR== Failed to initialize the profiler\n"),
            "failed",
            "exit code 9: ==ERROR== Failed",
        ),
        (ToolRun(0, '"a","b"\n"1","2"\n'), "failed", "does not name the kernel"),
        (ToolRun(0, f'"Kernel Name","{TIME}"\n"","ns"\n"k","5"\n'), "failed", "dram__bytes_read.sum"),
    ],
)
def test_what_gives_no_report_says_why(run: ToolRun, reason: str, words: str) -> None:
    answer = read_run(run, timeout_s=60, uses_warp_shuffle=False)
    assert isinstance(answer, ToolUnavailable)
    assert answer.reason == reason
    assert words in answer.words


def test_a_machine_without_the_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncu_module, "find_ncu", lambda: None)
    answer = NsightCompute().profile(["true"], ["k"], 5)
    assert isinstance(answer, ToolUnavailable)
    assert answer.reason == "missing"
    assert "nsight-compute" in answer.words


def test_a_driver_that_keeps_its_counters_for_administrators_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = tmp_path / "params"
    parameters.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    ncu = NsightCompute(stand_in(tmp_path, "exit 1"), parameters)
    monkeypatch.setattr(ncu_module.os, "geteuid", lambda: 1000)
    answer = ncu.available()
    assert answer is not None
    assert answer.reason == "forbidden"
    monkeypatch.setattr(ncu_module.os, "geteuid", lambda: 0)
    assert ncu.available() is None


def test_the_tool_is_run_on_the_command(tmp_path: Path) -> None:
    tool = stand_in(tmp_path, f'echo "$@" > {tmp_path}/arguments; cat {DATA}/ncu_add.txt')
    report = NsightCompute(tool, OPEN_DRIVER).profile(
        ["python", "-m", "replay"], ["add"], 20, ptx="shfl.sync.bfly.b32 %r1"
    )
    assert isinstance(report, ProfileReport)
    assert report.uses_warp_shuffle
    assert (tmp_path / "arguments").read_text().endswith(" python -m replay\n")
