"""The exploit suite and the honest corpus as records, for the tests and for `scripts/judge_table.py`.

Guarantees: a manifest that names a file twice, misses one that is there, or names one that is not,
is refused; so is a verdict that does not exist, and a cheat that may pass without saying why that is
harmless. It runs nothing by itself: `judged` asks the judge it is given, and turns a fault of the judge into
a row of its own, so that one candidate never ends a run.
"""

from __future__ import annotations

import json
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field, model_validator

from cheats.generated_cheats import GENERATED
from coding_framework.data.tasks import all_tasks, get_task, kernels, variants
from coding_framework.records import Candidate, Evaluation, Gate, ModuleTask, Record, Task, Tolerance, Verdict

TESTS = Path(__file__).parent
CHEATS = TESTS / "cheats"
HONEST = TESTS / "honest"
ARCHIVE = TESTS.parent.parent / "shared" / "data" / "sakana_subset.jsonl"
"""Rows of the AI CUDA Engineer archive; not part of the project, read where it lies beside it."""

ContractName = Literal["kernel", "extension", "module"]
ExecutorName = Literal["emulator", "gpu"]
SUFFIX = {"kernel": ".cu", "extension": ".cu", "module": ".py"}
GAIN_ALLOWED = {"emulator": 1.02, "gpu": 1.10}
"""A harmless cheat may not beat its honest twin by more; on a GPU two runs differ by some percent."""


class Cheat(Record):
    """One candidate that tries to fool the judge."""

    file: str
    """Path below `tests/cheats` without its ending, or `generated:NAME`."""
    contract: ContractName
    """How it is handed in."""
    exploits: tuple[str, ...] = Field(min_length=1)
    """Numbers of the catalogue; above 34 our own."""
    task: str
    """A task of the catalogue, or a problem of `tests/cheats/problems`."""
    tries: str
    """What it attempts, in one sentence."""
    emulator: tuple[Verdict, ...] = ()
    """Verdicts that count as caught on the emulator; empty where it cannot run."""
    gpu: tuple[Verdict, ...] = ()
    """The same on a GPU."""
    not_on_emulator: str = ""
    """Why there is no verdict on the emulator."""
    harmless: str = ""
    """Why it may pass, where `passed` is among the verdicts."""
    honest: str = ""
    """`TASK.VARIANT` it is compared with when it passes; empty: the task's baseline."""
    compare_time: bool = True
    """False where the trick itself is an honest speedup, or the twin is not of the catalogue."""
    seconds: float = Field(default=0, ge=0)
    """Limit of the whole judgement on the emulator; 0: none but the judge's own."""

    @model_validator(mode="after")
    def _a_pass_is_explained(self) -> Cheat:
        if (Verdict.PASSED in (*self.emulator, *self.gpu)) != bool(self.harmless):
            raise ValueError(f"{self.file}: `passed` needs `harmless`, and `harmless` needs `passed`")
        if not self.gpu:
            raise ValueError(f"{self.file}: every cheat can be run on a GPU")
        if bool(self.emulator) == bool(self.not_on_emulator):
            raise ValueError(f"{self.file}: either verdicts on the emulator or the reason for none")
        return self

    @property
    def name(self) -> str:
        return f"{self.contract}/{self.file.split(':')[-1]}"

    @property
    def path(self) -> Path | None:
        if ":" in self.file:
            return None
        return CHEATS / self.contract / (self.file + SUFFIX[self.contract])

    @property
    def candidate(self) -> Candidate:
        text = GENERATED[self.file.split(":")[1]]() if self.path is None else self.path.read_text("utf-8")
        return Candidate(source=text, contract=self.contract)

    def verdicts(self, executor: ExecutorName) -> tuple[Verdict, ...]:
        return self.emulator if executor == "emulator" else self.gpu


class Impossible(Record):
    """An exploit that a contract rules out by construction."""

    exploit: str
    """Number of the catalogue."""
    contract: ContractName
    """Where it cannot be written."""
    reason: str
    """Why."""


class Problem(Record):
    """A problem in KernelBench's form that host-code cheats are written for."""

    name: str
    """File below `tests/cheats/problems` without its ending."""
    hidden_constants: tuple[dict[str, int], ...]
    """Hidden shapes."""
    tolerance: Tolerance = Tolerance(relative=1e-3, absolute=1e-3)
    """Error budget."""

    def task(self) -> ModuleTask:
        source = (CHEATS / "problems" / f"{self.name}.py").read_text("utf-8")
        return ModuleTask(
            name=self.name, source=source, hidden_constants=self.hidden_constants, tolerance=self.tolerance
        )


class Manifest(Record):
    """`tests/cheats/manifest.toml`."""

    exploit: dict[str, str]
    """Number → the exploit in a few words."""
    cheat: tuple[Cheat, ...]
    """Every candidate."""
    impossible: tuple[Impossible, ...]
    """What a contract rules out."""
    problem: tuple[Problem, ...]
    """What the host-code cheats are written for."""

    @model_validator(mode="after")
    def _it_names_what_is_there(self) -> Manifest:
        named = [cheat.path for cheat in self.cheat if cheat.path is not None]
        there = {path for contract in SUFFIX for path in (CHEATS / contract).glob(f"*{SUFFIX[contract]}")}
        if len(named) != len(set(named)) or set(named) != there:
            wrong = sorted(str(path.relative_to(CHEATS)) for path in set(named) ^ there)
            raise ValueError(f"the manifest and the files differ, or a file is named twice: {wrong}")
        made = {cheat.file.split(":")[1] for cheat in self.cheat if ":" in cheat.file}
        if made != set(GENERATED):
            raise ValueError(f"generated cheats differ: {sorted(made ^ set(GENERATED))}")
        return self

    @model_validator(mode="after")
    def _every_exploit_has_an_answer_in_every_contract(self) -> Manifest:
        written = {(number, cheat.contract) for cheat in self.cheat for number in cheat.exploits}
        ruled_out = {(entry.exploit, entry.contract) for entry in self.impossible}
        wanted = {(number, contract) for number in self.exploit for contract in SUFFIX}
        if written | ruled_out != wanted or written & ruled_out:
            wrong = sorted((written & ruled_out) | ((written | ruled_out) ^ wanted))
            raise ValueError(f"neither a candidate nor a reason for none, or both: {wrong}")
        return self


class HonestKernel(Record):
    """A candidate with nothing to hide; it must pass."""

    name: str
    """For tables."""
    task: str
    """A task of the catalogue, or the name of the archive's operation."""
    candidate: Candidate
    """What is handed in."""
    module_task: ModuleTask | None = None
    """Its task, where it is not one of the catalogue."""
    emulator: bool = True
    """Whether the emulator can run it."""


class Row(Record):
    """One judged candidate of the suite."""

    name: str
    """Which."""
    contract: str
    """Its contract."""
    exploits: tuple[str, ...]
    """What it tries; empty for an honest one."""
    outcome: str
    """The verdict's name, or `fault` where the judge itself failed."""
    speedup: float | None
    """Where it passed."""
    own_kernel_share: float | None = None
    """Of the device time; where it passed and has host code."""
    as_wanted: bool
    """Caught for a stated reason, harmless, or, if honest, passed."""
    seconds: float
    """Wall-clock time of the judgement."""
    gate_seconds: dict[Gate, float] = Field(default_factory=dict)
    """Of which in each gate, waiting for the device included."""
    budget_share: float | None = None
    """Of an honest one: the largest error of all checks, as a share of what is allowed."""
    message: str
    """The judge's words."""


CALLED_CORRECT = {
    "1_MLP_optimized_workload_distribution_base": "returns shape (500,) for (1, 500), which broadcasting hid"
}
"""Rows of the archive that are wrong though it says otherwise, and why."""


class SupportsJudge(Protocol):
    """A `Judge` or a `JudgePool`."""

    def judge(self, task: Task | ModuleTask, candidate: Candidate) -> Evaluation: ...


@cache
def manifest() -> Manifest:
    """The manifest, checked against the files."""
    with (CHEATS / "manifest.toml").open("rb") as file:
        return Manifest.model_validate(tomllib.load(file))


def task_of(name: str) -> Task | ModuleTask:
    """A problem of the suite, or a task of the catalogue."""
    problems = {problem.name: problem for problem in manifest().problem}
    return problems[name].task() if name in problems else get_task(name)


def honest_twin(cheat: Cheat) -> Candidate:
    """What a cheat of the kernel contract that passes is compared with."""
    task, _, variant = (cheat.honest or f"{cheat.task}.").partition(".")
    if not variant:
        return Candidate(source=get_task(task).baseline)
    return Candidate(source=next(v.source for v in variants(task) if v.name == variant))


def catalogue_corpus() -> tuple[HonestKernel, ...]:
    """Every baseline and variant of the catalogue."""
    return tuple(
        HonestKernel(
            name=f"{task.name}.{kernel.name}", task=task.name, candidate=Candidate(source=kernel.source)
        )
        for task in all_tasks()
        for kernel in kernels(task.name)
    )


def written_corpus() -> tuple[HonestKernel, ...]:
    """`tests/honest/TASK.STYLE.cu`; a first line `// gpu only` names what the emulator does not know."""
    corpus = []
    for path in sorted(HONEST.glob("*.cu")):
        source = path.read_text("utf-8")
        task = path.name.split(".")[0]
        corpus.append(
            HonestKernel(
                name=path.stem,
                task=task,
                candidate=Candidate(source=source),
                emulator=not source.startswith("// gpu only"),
            )
        )
    return tuple(corpus)


def archive_corpus() -> tuple[HonestKernel, ...]:
    """The rows of the archive that it calls correct, and that are; empty where the file is not there."""
    if not ARCHIVE.exists():
        return ()
    rows = [json.loads(line) for line in ARCHIVE.read_text("utf-8").splitlines()]
    return tuple(
        HonestKernel(
            name=f"{row['Op_Name']}.{row['Kernel_Name']}.{number}",
            task=row["Op_Name"],
            candidate=Candidate(source=row["CUDA_Code"], contract="extension"),
            module_task=ModuleTask(name=row["Op_Name"], source=row["PyTorch_Code_Module"]),
            emulator=False,
        )
        for number, row in enumerate(rows)
        if row["Correct"] and row["Kernel_Name"] not in CALLED_CORRECT
    )


def judged(
    judge: SupportsJudge, task: Task | ModuleTask, candidate: Candidate
) -> tuple[str, Evaluation | None, str]:
    """Outcome, evaluation and words; what the judge raises is a fault of its own and a row like others."""
    try:
        evaluation = judge.judge(task, candidate)
    except Exception as error:
        words = (str(error).strip().splitlines() or [""])[-1]  # of a traceback, what was raised
        return "fault", None, f"{type(error).__name__}: {words}"
    return evaluation.verdict.value, evaluation, evaluation.message


def own_share(evaluation: Evaluation | None) -> float | None:
    """Of the device time in the candidate's own kernels."""
    return evaluation.timing.own_kernel_share if evaluation and evaluation.timing else None


def budget_share(evaluation: Evaluation | None) -> float | None:
    """None where nothing was compared."""
    checks = evaluation.checks if evaluation else ()
    return max((check.max_error_ratio for check in checks if check.max_error_ratio is not None), default=None)


def cheat_row(judge: SupportsJudge, cheat: Cheat, executor: ExecutorName) -> Row:
    """Judge one cheat, and its honest twin where it passed."""
    started = time.monotonic()
    outcome, evaluation, message = judged(judge, task_of(cheat.task), cheat.candidate)
    seconds = time.monotonic() - started
    as_wanted = outcome in {verdict.value for verdict in cheat.verdicts(executor)}
    speedup = evaluation.speedup if evaluation else None
    if as_wanted and speedup is not None and cheat.compare_time and cheat.contract == "kernel":
        twin = judged(judge, task_of(cheat.task), honest_twin(cheat))[1]
        best = GAIN_ALLOWED[executor] * (twin.speedup or 0.0 if twin else 0.0)
        if speedup > best:
            as_wanted, message = False, f"{speedup:.2f}x, its honest twin allows {best:.2f}x: {message}"
    if as_wanted and executor == "emulator" and cheat.seconds and seconds > cheat.seconds:
        as_wanted, message = False, f"took {seconds:.1f} s of {cheat.seconds:g} s: {message}"
    return Row(
        name=cheat.name,
        contract=cheat.contract,
        exploits=cheat.exploits,
        outcome=outcome,
        speedup=speedup,
        own_kernel_share=own_share(evaluation),
        as_wanted=as_wanted,
        seconds=seconds,
        gate_seconds=evaluation.gate_seconds if evaluation else {},
        message=message,
    )


def honest_row(judge: SupportsJudge, kernel: HonestKernel) -> Row:
    """Judge one honest candidate."""
    started = time.monotonic()
    outcome, evaluation, message = judged(
        judge, kernel.module_task or get_task(kernel.task), kernel.candidate
    )
    return Row(
        name=kernel.name,
        contract=kernel.candidate.contract,
        exploits=(),
        outcome=outcome,
        speedup=evaluation.speedup if evaluation else None,
        own_kernel_share=own_share(evaluation),
        as_wanted=outcome == Verdict.PASSED.value,
        seconds=time.monotonic() - started,
        gate_seconds=evaluation.gate_seconds if evaluation else {},
        budget_share=budget_share(evaluation),
        message=message,
    )
