"""compute-sanitizer's output becomes findings with a kind, a place, a count and advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiler_support import DATA, recorded, stand_in

from coding_framework.cuda.profiler import ComputeSanitizer, SanitizerReport, ToolUnavailable
from coding_framework.cuda.profiler import sanitizer as sanitizer_module
from coding_framework.cuda.profiler.sanitizer import SanitizerTool, read_run
from coding_framework.cuda.profiler.sanitizer_output import parse_findings
from coding_framework.cuda.profiler.tools import ToolRun


def report_of(tool: SanitizerTool, name: str, exit_code: int = 0) -> SanitizerReport:
    report = read_run(ToolRun(exit_code, recorded(f"sanitizer_{tool}_{name}")), tool, timeout_s=60)
    assert isinstance(report, SanitizerReport), report
    return report


@pytest.mark.parametrize(
    ("tool", "name", "kind", "line", "num_errors", "words"),
    [
        ("memcheck", "outside", "out_of_bounds", 33, 1025, "compare the index with the size"),
        ("memcheck", "misaligned", "misaligned", 40, 33, "an address that its size divides"),
        (
            "racecheck",
            "race",
            "race",
            48,
            1,
            "Race between a write and a read in `race` at line 48 and line 49",
        ),
        ("initcheck", "uninitialized", "uninitialized", 53, 1024, "write the memory before it is read"),
        ("synccheck", "divergent", "barrier", 43, 8, "let every thread of the block reach the barrier"),
    ],
)
def test_each_tool_finds_its_kind_of_fault(
    tool: SanitizerTool, name: str, kind: str, line: int, num_errors: int, words: str
) -> None:
    report = report_of(tool, name, exit_code=1)
    finding = report.findings[0]
    assert (finding.kind, finding.kernel, finding.line) == (kind, name, line)
    assert report.num_errors == num_errors
    assert words in finding.words
    assert not report.clean


def test_many_threads_at_one_place_are_one_finding() -> None:
    (finding,) = report_of("memcheck", "outside").findings
    assert finding.count == 3
    assert "first by thread (0,0,0) of block (2,0,0)" in finding.words
    (hazards,) = report_of("racecheck", "race").findings
    assert hazards.count == 1024


def test_a_fault_in_a_called_function_is_placed_there_and_named_after_the_kernel() -> None:
    (finding,) = report_of("memcheck", "outside").findings
    assert finding.kernel == "outside"
    assert "at line 33 and line 36" in finding.words


def test_frames_of_the_host_are_no_places_in_the_kernel() -> None:
    (finding,) = report_of("memcheck", "host_frames").findings
    assert (finding.kernel, finding.line, finding.count) == ("oob", 3, 2)


def test_a_failed_call_of_the_host_is_a_finding_of_its_own() -> None:
    kinds = [finding.kind for finding in report_of("memcheck", "misaligned").findings]
    assert kinds == ["misaligned", "api"]


@pytest.mark.parametrize("tool", ["memcheck", "synccheck"])
def test_a_sound_kernel_is_clean_unless_its_program_failed(tool: SanitizerTool) -> None:
    assert report_of(tool, "add").clean
    assert not report_of(tool, "add", exit_code=1).clean


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (
            "========= Invalid __shared__ read of size 4 bytes\n=========     at k+0x10\n",
            "out_of_bounds",
            None,
        ),
        ("========= Leaked 64 bytes at 0x7f\n=========     Saved host backtrace\n", "leak", None),
        ("========= Something new\n=========     at k(float *, int)+0x10 in kernel.cu:9\n", "other", 9),
        (
            "========= Invalid __global__ read of size 2 bytes\n"
            "=========     at __hadd+0x10 in cuda_bf16.hpp:900\n"
            "=========         Device Frame: k+0x20 in kernel.cu:12\n",
            "out_of_bounds",
            12,
        ),
    ],
)
def test_other_forms_are_read_too(text: str, kind: str, line: int | None) -> None:
    (finding,) = parse_findings(text)
    assert (finding.kind, finding.line) == (kind, line)
    assert finding.kernel == (None if kind == "leak" else "k")


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (ToolRun(None, recorded("sanitizer_memcheck_add")), "timeout"),
        (ToolRun(1, "========= COMPUTE-SANITIZER\n========= Error: Device not supported\n"), "failed"),
        (ToolRun(127, ""), "failed"),
    ],
)
def test_output_without_a_summary_is_no_report(run: ToolRun, reason: str) -> None:
    answer = read_run(run, "memcheck", timeout_s=60)
    assert isinstance(answer, ToolUnavailable)
    assert answer.reason == reason


def test_a_machine_without_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer_module, "find_sanitizer", lambda: None)
    answer = ComputeSanitizer().run(["true"], "memcheck")
    assert isinstance(answer, ToolUnavailable)
    assert "cuda-sanitizer" in answer.words


def test_the_tool_is_run_on_the_command(tmp_path: Path) -> None:
    script = f'echo "$@" > {tmp_path}/arguments; cat {DATA}/sanitizer_racecheck_race.txt'
    report = ComputeSanitizer(stand_in(tmp_path, script)).run(["prog", "x"], "racecheck", 20)
    assert isinstance(report, SanitizerReport)
    assert (tmp_path / "arguments").read_text().startswith("--tool racecheck ")
    assert (tmp_path / "arguments").read_text().endswith(" prog x\n")
