"""`CUDAPitfallDetector`: static findings that help a model to write a better kernel.

How: each kernel is traced on its syntax tree with concrete numbers (see `tracer`), and rules read the
trace. Guarantees: `detect` never raises whatever the text, is deterministic, and answers within
milliseconds for honest sources; findings are `pitfall`s of severity info, warning or error, by line.
Not guaranteed: completeness. What the trace cannot follow (memory contents, rounds after the second,
unparsable code) gives no finding, and without a launch plan the block's shape is guessed: then only
what holds for every guess is said, and races and barriers are warnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coding_framework.cuda.analysis.pitfalls.advice import (
    local_arrays,
    plain_pointers,
    slow_divisions,
    unwritten_shared,
)
from coding_framework.cuda.analysis.pitfalls.banks import bank_conflicts
from coding_framework.cuda.analysis.pitfalls.barriers import divergent_barriers, partial_shuffles
from coding_framework.cuda.analysis.pitfalls.branches import divergent_branches
from coding_framework.cuda.analysis.pitfalls.coalescing import uncoalesced
from coding_framework.cuda.analysis.pitfalls.events import Barrier, Shuffle, Trace
from coding_framework.cuda.analysis.pitfalls.global_writes import contended_atomics, missing_bounds_checks
from coding_framework.cuda.analysis.pitfalls.ir import Function
from coding_framework.cuda.analysis.pitfalls.launch_shape import low_occupancy
from coding_framework.cuda.analysis.pitfalls.literals import double_literals
from coding_framework.cuda.analysis.pitfalls.program import Program
from coding_framework.cuda.analysis.pitfalls.races import missing_barriers
from coding_framework.cuda.analysis.pitfalls.report import ordered
from coding_framework.cuda.analysis.pitfalls.scenario import LaunchText, Scenario, launches_of, scenarios
from coding_framework.cuda.analysis.pitfalls.tracer import trace
from coding_framework.cuda.analysis.pitfalls.values import THREAD
from coding_framework.records import KernelResources, LaunchPlan
from coding_framework.records.finding import Finding

_RULES = (
    bank_conflicts,
    missing_barriers,
    divergent_barriers,
    partial_shuffles,
    uncoalesced,
    divergent_branches,
    contended_atomics,
    unwritten_shared,
    slow_divisions,
    local_arrays,
)

_SHAPELESS = frozenset(
    {"no-const-restrict", "integer-division", "local-array-dynamic-index", "missing-bounds-check"}
)
"""Rules whose answer does not depend on the block's shape: a guess need not be checked by another."""


class CUDAPitfallDetector:
    """Finds what makes a kernel racy or slow; see the module's docstring for what it can claim."""

    def detect(
        self,
        source: str,
        *,
        plan: LaunchPlan | None = None,
        resources: Sequence[KernelResources] = (),
    ) -> tuple[Finding, ...]:
        """Every finding, by line. `plan` gives block shapes; `resources` give registers and spills."""
        program = Program(source)
        launches = launches_of(source, plan)
        found: list[Finding] = []
        for node in program.kernels:
            kernel = program.read_function(node)
            if not kernel.has_error:
                found += _kernel_findings(program, kernel, launches)
        for function in program.definitions():
            found += double_literals(function, program.text)
        if plan is not None:
            found += low_occupancy(plan, resources)
        return ordered(found)


def _kernel_findings(program: Program, kernel: Function, launches: Sequence[LaunchText]) -> list[Finding]:
    """The rules on each block shape; what only some guesses show is dropped."""
    groups: dict[tuple[int, int, int], list[Scenario]] = {}
    for scenario in scenarios(kernel, launches, _guesses(program)):
        groups.setdefault(scenario.block if scenario.is_guess else (0, 0, 0), []).append(scenario)
    first, *others = groups.values()
    found = _group_findings(program, kernel, first, launches)
    for other in others:
        if all(finding.rule in _SHAPELESS for finding in found):
            break
        again = {(f.rule, f.line) for f in _group_findings(program, kernel, other, launches)}
        found = tuple(f for f in found if f.rule in _SHAPELESS or (f.rule, f.line) in again)
    return [_cautious(finding, is_guess=bool(others)) for finding in found]


def _group_findings(
    program: Program, kernel: Function, group: Sequence[Scenario], launches: Sequence[LaunchText]
) -> tuple[Finding, ...]:
    traces = list(_traces(program, kernel, group))
    found = [finding for rule in _RULES for finding in rule(traces)]
    mine = [launch for launch in launches if launch.kernel in ("", kernel.name)]
    scratch = frozenset[str]().union(*(launch.scratch_of(kernel) for launch in mine))
    found += missing_bounds_checks(traces, launches, scratch)
    found += plain_pointers(kernel, traces)
    return ordered(found)


def _cautious(finding: Finding, *, is_guess: bool) -> Finding:
    if is_guess and finding.severity == "error" and finding.rule != "missing-bounds-check":
        return finding.model_copy(update={"severity": "warning"})
    return finding


def _traces(program: Program, kernel: Function, group: Sequence[Scenario]) -> Iterator[Trace]:
    """The large scenario always; the others only where they could show something new."""
    large = [scenario for scenario in group if scenario.kind == "large"] or list(group[:1])
    first = trace(program, kernel, large[0])
    yield first
    waits = any(isinstance(event, Barrier | Shuffle) and event.taint & THREAD for event in first.events)
    for scenario in group:
        if (scenario.kind == "aligned" and first.took_a_side) or (scenario.kind == "small" and waits):
            yield trace(program, kernel, scenario)


def _guesses(program: Program) -> tuple[tuple[int, int, int], ...]:
    """Common block shapes: the real one should be among them."""
    if program.uses_rows:
        return (32, 32, 1), (32, 8, 1), (16, 16, 1)
    return (256, 1, 1), (128, 1, 1), (512, 1, 1)
