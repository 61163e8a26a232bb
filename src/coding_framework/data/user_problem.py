"""A `.cu` file with a naive kernel and a header, turned into a task that the judge can judge.

The naive kernel is its own truth: rewritten to double and run where the judge runs, it is the float64 oracle.
Where that is not possible (it does not compile in double, faults, or says something else), the float32
kernel itself is the oracle under a wider budget, and the notes say so. Shapes are derived from the one
that the header states, the error budget from the naive kernel's own rounding errors.

Guarantees: a `UserProblem` has been compiled and run on all its shapes. Not promised: that the naive
kernel passes the judge, which also looks for races and at every run twice; ask the judge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import ContractViolation, parse_launch_plan
from coding_framework.cuda.elements import ELEMENT_BYTES, decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.verdicts import compile_error_words
from coding_framework.data.problems.header import ProblemHeader, parse_header
from coding_framework.data.problems.oracle import NaiveKernelOracle, OracleFault
from coding_framework.data.problems.shapes import derive_shapes
from coding_framework.data.problems.truth import with_truth
from coding_framework.data.tasks.build import CUDA_TYPES, HEADERS
from coding_framework.errors import CandidateInputError, UserError
from coding_framework.records import (
    MAX_SOURCE_BYTES,
    Dimensions,
    Record,
    Task,
    TensorSpec,
    parse_expression,
)

FAMILY = "user"
MAX_PROMPT_CHARS = 1400
"""Of words, signature and naive kernel together; prompts are cut a little above it."""
_HEADER_LINE = re.compile(
    r"^\s*//+\s*(?:problem|say|dims|input|output|tolerance|values|operations)\s*:.*\n?", re.MULTILINE
)


class UserProblem(Record):
    """A task made from a user's file, and what was decided on the way."""

    task: Task
    """Ready for the judge; its baseline is the naive kernel."""
    notes: tuple[str, ...]
    """How truth, budget and shapes were found, in words."""


def read_problem(path: Path, compiler: CUDACompiler) -> UserProblem:
    """The problem in a file."""
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CandidateInputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CandidateInputError(f"{path} is not UTF-8 text") from None
    if len(source.encode()) > MAX_SOURCE_BYTES:
        raise CandidateInputError(f"{path} is larger than {MAX_SOURCE_BYTES:,} bytes")
    return build_problem(source, compiler, where=str(path))


def build_problem(source: str, compiler: CUDACompiler, *, where: str = "the file") -> UserProblem:
    """The problem in a text; raises `UserError` in words where the naive kernel itself is at fault."""
    header = parse_header(source, where)
    draft = _draft(header, source, where)
    oracle = _compiled(draft, source, compiler, where)
    shapes = derive_shapes(header.dimensions, lambda shape: _instructions(oracle, shape))
    task = draft.model_copy(
        update={
            "visible_shapes": shapes.visible,
            "hidden_shapes": shapes.hidden,
            "timing_shape": shapes.timing,
            "oracle": oracle,
        }
    )
    task, told = with_truth(task, oracle, compiler, header.tolerance)
    modelled, measured = _words(task.timing_shape), _words(header.dimensions)
    sizes = f"timed at {modelled} where times are modelled, at {measured} where they are measured"
    return UserProblem(task=task, notes=(*told, sizes))


def naive_source(task: Task) -> str:
    """The naive kernel without the header lines: what a model is shown, and what a diff is against."""
    return _HEADER_LINE.sub("", task.baseline).strip() + "\n"


def _draft(header: ProblemHeader, source: str, where: str) -> Task:
    try:
        return Task(
            name=header.name,
            title=header.name.replace("_", " "),
            tier=1,
            family=FAMILY,
            prompt=_prompt(header, source),
            dimensions=tuple(header.dimensions),
            inputs=header.inputs,
            outputs=header.outputs,
            visible_shapes=(header.dimensions,),
            hidden_shapes=(header.dimensions,),
            timing_shape=header.dimensions,
            gpu_timing_shape=header.dimensions,
            distributions=header.distributions,
            bytes_moved=parse_expression(_bytes_moved(header)),
            operations=header.operations or parse_expression(_elements(header.outputs)),
            baseline=source,
            oracle=_undecided,
        )
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None


def _prompt(header: ProblemHeader, source: str) -> str:
    parameters = [f"const {CUDA_TYPES[spec.dtype]}* {spec.name}" for spec in header.inputs]
    parameters += [f"{CUDA_TYPES[spec.dtype]}* {spec.name}" for spec in header.outputs]
    parameters += [f"int {name}" for name in header.dimensions]
    types = dict.fromkeys(spec.dtype for spec in (*header.inputs, *header.outputs))
    headers = "".join(f" Include {HEADERS[dtype]}." for dtype in types if dtype in HEADERS)
    head = f'Signature: extern "C" __global__ void {header.name}({", ".join(parameters)})'
    ask = "Write a faster kernel that computes the same as this one:"
    naive = _shown(_HEADER_LINE.sub("", source).strip(), MAX_PROMPT_CHARS - len(header.words) - len(head))
    return f"{header.words}{headers}\n{head}\n{ask}\n```cuda\n{naive}\n```".strip()


def _shown(source: str, max_chars: int) -> str:
    """Whole lines from the top; the fence behind them is then always closed."""
    kept: list[str] = []
    for line in source.splitlines():
        max_chars -= len(line) + 1
        if max_chars < 0:
            return "\n".join([*kept, "// … (the rest is left out)"])
        kept.append(line)
    return "\n".join(kept)


def _bytes_moved(header: ProblemHeader) -> str:
    specs = (*header.inputs, *header.outputs)
    return " + ".join(f"{ELEMENT_BYTES[spec.dtype]}*{_elements((spec,))}" for spec in specs)


def _elements(specs: tuple[TensorSpec, ...]) -> str:
    return " + ".join("*".join(f"({extent.text})" for extent in spec.shape) for spec in specs)


def _undecided(module: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions) -> Mapping[str, Any]:
    raise AssertionError("the truth of this problem is not decided yet")


def _compiled(task: Task, source: str, compiler: CUDACompiler, where: str) -> NaiveKernelOracle:
    """The naive kernel as it stands."""
    try:
        plan = parse_launch_plan(source, task)
    except ContractViolation as violation:
        raise UserError(f"{where}: the naive kernel's launch plan is wrong: {violation}") from None
    compilation = compiler.compile(source)
    if compilation.ptx is None:
        raise UserError(f"{where}: the naive kernel is wrong: {compile_error_words(compilation, source)}")
    return NaiveKernelOracle(compilation.ptx, task, plan, wide=False)


def _instructions(oracle: NaiveKernelOracle, shape: Dimensions) -> int:
    try:
        outcome = oracle.run(_inputs(oracle.task, shape, 0), shape)
    except ContractViolation as violation:
        raise UserError(f"the launch plan has no value for {dict(shape)}: {violation}") from None
    if outcome.fault is not None:
        raise OracleFault(outcome.fault, shape)
    return sum(counters.lane_instructions for counters in outcome.counters)


def _inputs(task: Task, shape: Dimensions, number: int) -> dict[str, Any]:
    kind = task.distributions[number % len(task.distributions)]
    drawn = draw_inputs(task, shape, kind, seed=number)
    return {spec.name: decode_elements(drawn[spec.name], spec.dtype) for spec in task.inputs}


def _words(shape: Mapping[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in shape.items())
