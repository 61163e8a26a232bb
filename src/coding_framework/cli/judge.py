"""`cuda-rl judge FILE --task NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import ConfigOption, JsonOption, SetOption
from coding_framework.errors import CandidateInputError

if TYPE_CHECKING:
    from coding_framework.records import Evaluation


def judge(
    file: Annotated[
        Path, typer.Argument(help="A .cu file under the kernel contract, or - for standard input.")
    ],
    task: Annotated[str, typer.Option("--task", "-t", help="Name of the task (see `cuda-rl tasks`).")],
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Compile, run, check and time one kernel. Exit code 0 if it passed, 10 if it was rejected."""
    from coding_framework.cli.output import print_record, stderr_console
    from coding_framework.config import load_config
    from coding_framework.cuda.judge import Judge
    from coding_framework.data.tasks import get_task
    from coding_framework.records import Candidate

    chosen = get_task(task)
    candidate = Candidate(source=read_source(file))
    the_judge = Judge(load_config(config, set_ or ()).judge)
    try:
        with stderr_console().status(f"judging {file} for {task}"):
            evaluation = the_judge.judge(chosen, candidate)
    finally:
        the_judge.close()
    if json:
        print_record(evaluation)
    else:
        _show(evaluation)
    if not evaluation.passed:
        raise typer.Exit(10)


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
    if evaluation.timing is not None and evaluation.profile is not None:
        timing = evaluation.timing
        facts.append((f"{timing.kind} time", f"{timing.median_us:.2f} us on {timing.device}"))
        facts.append((f"{timing.kind} speedup", f"{timing.speedup:.2f}x over the {timing.reference}"))
        facts.append(("speed of light", f"{timing.floor_us:.2f} us"))
    seconds = sum(evaluation.gate_seconds.values())
    parts = ", ".join(f"{gate.value} {value:.2f} s" for gate, value in evaluation.gate_seconds.items())
    facts.append(("judged in", f"{seconds:.2f} s ({parts})"))
    return facts


def _quote_line(evaluation: Evaluation, line: int) -> str:
    assert evaluation.candidate is not None
    lines = evaluation.candidate.source.splitlines()
    return f"{line}: {lines[line - 1].strip()}" if line <= len(lines) else str(line)
