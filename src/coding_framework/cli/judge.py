"""`cuda-rl judge FILE --task NAME`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import ConfigOption, JsonOption, SetOption
from coding_framework.errors import CandidateInputError

if TYPE_CHECKING:
    from coding_framework.records import Candidate, Contract, Evaluation, KernelTiming, ModuleTask, Task


class ContractName(StrEnum):
    """How a source is built and called."""

    KERNEL = "kernel"
    EXTENSION = "extension"
    MODULE = "module"


class SanitizerName(StrEnum):
    """The tools of compute-sanitizer."""

    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


def judge(
    file: Annotated[
        Path,
        typer.Argument(help="A .cu or .py file, or - for standard input (contract kernel)."),
    ],
    task: Annotated[
        str,
        typer.Option(
            "--task",
            "-t",
            help="Name of a task (see `cuda-rl tasks`), or a .py file with Model, get_inputs and "
            "get_init_inputs for the contracts extension and module.",
        ),
    ],
    contract: Annotated[
        ContractName | None,
        typer.Option(help="Told by the file when left out: .py is module, a PYBIND11_MODULE is extension."),
    ] = None,
    executor: Annotated[
        str | None, typer.Option(help="emulator, gpu or auto; the same as --set judge.executor=…")
    ] = None,
    sanitize: Annotated[
        SanitizerName | None,
        typer.Option(help="Then also run this tool of compute-sanitizer on it (contract kernel, on a GPU)."),
    ] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Compile, run, check and time one candidate. Exit code 0 if it passed, 10 if it was rejected."""
    from coding_framework.cli.output import print_record, stderr_console
    from coding_framework.config import load_config
    from coding_framework.cuda.judge import Judge

    candidate = read_candidate(file, contract)
    chosen = read_task(task, candidate.contract)
    overrides = [*(set_ or ()), *([f"judge.executor={executor}"] if executor else [])]
    the_judge = Judge(load_config(config, overrides).judge)
    try:
        with stderr_console().status(f"judging {file} for {chosen.name}"):
            evaluation = the_judge.judge(chosen, candidate)
    finally:
        the_judge.close()
    evaluation = with_pitfalls(chosen, evaluation)
    if json:
        print_record(evaluation)
    else:
        _show(evaluation)
    if sanitize is not None:
        _sanitize(chosen, evaluation, sanitize)
    if not evaluation.passed:
        raise typer.Exit(10)


def with_pitfalls(task: Task | ModuleTask, evaluation: Evaluation) -> Evaluation:
    """The same evaluation with advice on slow or racy code added to its findings."""
    from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
    from coding_framework.cuda.contract import ContractViolation, parse_launch_plan
    from coding_framework.records import Task

    candidate = evaluation.candidate
    if not isinstance(task, Task) or candidate is None or not evaluation.compiled:
        return evaluation
    try:
        plan = parse_launch_plan(candidate.source, task)
    except ContractViolation:
        return evaluation
    resources = evaluation.compilation.resources if evaluation.compilation else ()
    pitfalls = CUDAPitfallDetector().detect(candidate.source, plan=plan, resources=resources)
    return evaluation.model_copy(update={"findings": (*evaluation.findings, *pitfalls)})


def read_candidate(file: Path, contract: ContractName | None) -> Candidate:
    """The file under the contract that it looks like, or under the one that was named."""
    from coding_framework.records import Candidate

    source = read_source(file)
    chosen: Contract = contract.value if contract is not None else _contract_of(file, source)
    return Candidate(source=source, contract=chosen)


def _contract_of(file: Path, source: str) -> Contract:
    if file.suffix == ".py":
        return "module"
    return "extension" if "PYBIND11_MODULE" in source else "kernel"


def read_task(task: str, contract: Contract) -> Task | ModuleTask:
    """A task of the catalogue for `kernel`, a reference module in a file for the others."""
    from coding_framework.data.tasks import get_task
    from coding_framework.records import ModuleTask

    if contract == "kernel":
        return get_task(task)
    path = Path(task)
    if path.suffix != ".py" or not path.is_file():
        raise CandidateInputError(
            f"a candidate of contract {contract} needs --task FILE.py with a class Model, get_inputs() and "
            f"get_init_inputs(); {task} is no such file"
        )
    return ModuleTask(name=path.stem, source=path.read_text(encoding="utf-8"))


def _sanitize(task: Task | ModuleTask, evaluation: Evaluation, tool: SanitizerName) -> None:
    from coding_framework.cli.output import stderr_console, stdout_console
    from coding_framework.cuda.sanitize import sanitize_candidate
    from coding_framework.records import Task

    if not isinstance(task, Task) or evaluation.candidate is None:
        raise CandidateInputError("--sanitize runs candidates of contract kernel")
    with stderr_console().status(f"running compute-sanitizer {tool.value}"):
        report = sanitize_candidate(task, evaluation.candidate, tool.value)
    console = stdout_console()
    console.print(f"{tool.value}: {'clean' if report.clean else f'{report.num_errors} errors'}")
    for finding in report.findings:
        console.print(f"  {finding.words}", markup=False)


def read_source(file: Path) -> str:
    """The candidate's text; an unreadable, empty or huge file is the user's mistake."""
    from coding_framework.records import MAX_SOURCE_BYTES

    try:
        data = typer.get_binary_stream("stdin").read() if str(file) == "-" else _read_bounded(file)
    except OSError as error:
        raise CandidateInputError(f"{file} cannot be read: {error.strerror}") from None
    if len(data) > MAX_SOURCE_BYTES:
        raise CandidateInputError(
            f"{file} is larger than {MAX_SOURCE_BYTES:,} bytes; a kernel is a short text"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CandidateInputError(f"{file} is not UTF-8 text") from None
    if not text.strip():
        raise CandidateInputError(f"{file} is empty")
    return text


def _read_bounded(file: Path) -> bytes:
    from coding_framework.records import MAX_SOURCE_BYTES

    if file.exists() and not file.is_file():
        raise CandidateInputError(f"{file} is no file; `-` reads the standard input")
    with file.open("rb") as stream:
        return stream.read(MAX_SOURCE_BYTES + 1)


def _show(evaluation: Evaluation) -> None:
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console

    console = stdout_console()
    colour = "green" if evaluation.passed else "red"
    console.print(Text(evaluation.verdict.value.replace("_", " ").upper(), style=f"bold {colour}"), end="  ")
    console.print(Text(evaluation.message))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in _facts(evaluation):
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(table)


def _facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    facts = [("task", evaluation.task)]
    if evaluation.source_line:
        facts.append(("line", _quote_line(evaluation, evaluation.source_line)))
    if evaluation.num_checks_planned:
        passed = sum(check.passed for check in evaluation.checks)
        facts.append(("checks", f"{passed} of {evaluation.num_checks_planned} passed"))
    compilation = evaluation.compilation
    if compilation is not None and compilation.success:
        usage = ", ".join(
            f"{r.kernel}: {r.registers} registers, {r.static_shared_bytes} B shared"
            for r in compilation.resources
        )
        facts.append(
            (
                "compiled",
                f"{compilation.compiler} {compilation.toolkit} for {compilation.architecture}; {usage}",
            )
        )
        facts += [("warning", f"line {w.line}: {w.message}") for w in compilation.warnings[:5]]
    for found in evaluation.findings[:8]:
        words = _finding_words(found.line, found.words)
        facts.append((f"{found.severity} {found.category}", words))
    if evaluation.timing is not None:
        facts += _timing_facts(evaluation.timing)
    seconds = sum(evaluation.gate_seconds.values())
    parts = ", ".join(f"{gate.value} {value:.2f} s" for gate, value in evaluation.gate_seconds.items())
    facts.append(("judged in", f"{seconds:.2f} s ({parts})"))
    return facts


def _finding_words(line: int | None, reason: str) -> str:
    return f"line {line}: {reason}" if line else reason


def _timing_facts(timing: KernelTiming) -> list[tuple[str, str]]:
    interval = timing.interval_us
    spread = f" [{interval[0]:.2f}–{interval[1]:.2f}], {timing.num_samples} launches" if interval else ""
    facts = [
        (f"{timing.kind} time", f"{timing.median_us:.2f} us{spread} on {timing.device}"),
        (f"{timing.kind} speedup", f"{timing.speedup:.2f}x over the {timing.reference}"),
        ("speed of light", f"{timing.floor_us:.2f} us"),
    ]
    for name, median_us in timing.other_references_us.items():
        facts.append((name, f"{median_us:.2f} us ({median_us / timing.median_us:.2f}x)"))
    if timing.bandwidth_share is not None:
        facts.append(("bandwidth", f"{timing.bandwidth_share:.0%} of the card's peak"))
    if timing.operations_share is not None:
        facts.append(("arithmetic", f"{timing.operations_share:.0%} of the card's peak"))
    if timing.transfer_us is not None:
        facts.append(("transfer", f"{timing.transfer_us:.0f} us from host to device, in no other figure"))
    if timing.own_kernel_share is not None:
        facts.append(("own kernels", f"{timing.own_kernel_share:.0%} of the device time"))
    return facts


def _quote_line(evaluation: Evaluation, line: int) -> str:
    assert evaluation.candidate is not None
    lines = evaluation.candidate.source.splitlines()
    return f"{line}: {lines[line - 1].strip()}" if line <= len(lines) else str(line)
