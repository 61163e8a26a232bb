"""The judge's words. They are quoted to the agent, so they are short, true, and say what to change.

Hidden shapes are described by what is special about them, never by their numbers, and no expected
value of theirs is quoted: what a candidate is told must not let it answer by heart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan

from coding_framework.cuda.toolchain.missing_headers import missing_headers
from coding_framework.records import (
    CompilationResult,
    Finding,
    KernelTiming,
    ModuleTask,
    ProfileReport,
    ShapeCheck,
    Task,
)

MAX_ERRORS_QUOTED = 3


def compile_error_words(compilation: CompilationResult, source: str) -> str:
    """The first errors with their source lines, and what is missing on top of the source."""
    quoted = []
    for error in compilation.errors[:MAX_ERRORS_QUOTED]:
        where = f"line {error.line}: " if error.line else ""
        quote = f" in `{error.source_line.strip()}`" if error.source_line else ""
        quoted.append(f"{where}{error.message}{quote}")
    more = len(compilation.errors) - len(quoted)
    text = "it does not compile. " + "; ".join(quoted)
    text += f"; and {more} more errors" if more > 0 else ""
    missing = missing_headers(compilation.errors, source)
    return text + "".join(f". `{name}` needs `#include <{header}>`" for header, name in missing.items())


def shape_words(task: Task, dimensions: dict[str, int], *, hidden: bool) -> str:
    """A visible shape by its numbers, a hidden one by what is special about it."""
    if not hidden:
        return ", ".join(f"{name}={size}" for name, size in dimensions.items())
    traits = [trait for name, size in dimensions.items() if (trait := _trait(name, size))]
    return "a hidden shape" + (f" ({', '.join(traits)})" if traits else "")


def without_sizes(words: str) -> str:
    """The same message with every number that could tell a hidden size left out; line numbers stay."""
    return re.sub(r"(?<!line )(?<![\w.])\d[\d,]*(?![\w.]*\w)", "…", words)


def idle_source_words(lines: Sequence[int]) -> str:
    """What shuffles may have to do with it, if some read from lanes that take no part."""
    if not lines:
        return ""
    where = " and ".join(f"line {line}" for line in lines[:MAX_ERRORS_QUOTED])
    return (
        f". The shuffle on {where} reads from a lane that takes no part in it (it has ended, is elsewhere, "
        "or the mask does not name it), and such a value means nothing: start with an offset of half the "
        "lanes that take part, or let the whole warp shuffle"
    )


def wrong_result_words(task: Task, check: ShapeCheck, idle_sources: Sequence[int] = ()) -> str:
    """How many elements are wrong, the first of them, and what may be behind it."""
    total = sum(spec.num_elements(check.dimensions) for spec in task.outputs)
    first = check.wrong_elements[0]
    text = (
        f"wrong result for {shape_words(task, check.dimensions, hidden=check.hidden)} "
        f"({check.distribution} inputs): {_how_many(check.num_wrong, total, hidden=check.hidden)} wrong"
    )
    if idle_sources:
        return text + idle_source_words(idle_sources)
    if check.num_unwritten:
        return text + _unwritten_words(check, check.num_unwritten, total)
    if isnan(first.actual) and not isnan(first.expected):
        return text + _nan_words(check, total)
    if check.hidden:
        return text + ". Check the bounds and every size that is not a multiple of the block"
    return (
        f"{text}; first: {_element(first.output, first.index, hidden=False)} should be {first.expected:.6g} "
        f"but is {first.actual:.6g}"
    )


def _unwritten_words(check: ShapeCheck, unwritten: int, total: int) -> str:
    """What was left as it was."""
    some = "; some of these were" if check.hidden else f"; {unwritten} of these were"
    who = " and were" if unwritten == check.num_wrong else some
    first = _element(check.wrong_elements[0].output, check.wrong_elements[0].index, hidden=check.hidden)
    where = "" if check.hidden else f", the first wrong one is {first}"
    advice = "" if unwritten == total else ". Check that the grid covers all elements"
    return f"{who} never written{where}{advice}"


def _nan_words(check: ShapeCheck, total: int) -> str:
    """A NaN that was computed, where that is known, or one that may be a hole."""
    first = check.wrong_elements[0]
    text = f"; {_element(first.output, first.index, hidden=check.hidden)} is NaN"
    if check.num_unwritten == 0:
        return f"{text}, which the kernel computed: an overflow, 0/0, or from a value that it never set"
    covers = " Check that the grid covers all elements." if check.num_wrong < total else ""
    return f"{text}: was it ever written?{covers}"


def _how_many(wrong: int, total: int, *, hidden: bool) -> str:
    """A count, or for a hidden shape no more than what it does not tell its size by."""
    if not hidden:
        return f"{wrong} of {total} elements are"
    if wrong == total:
        return "every element is"
    return f"{'most' if 2 * wrong > total else 'some'} elements are"


def passed_words(timing: KernelTiming, profile: ProfileReport | None) -> str:
    """How fast it is, and what holds it back."""
    text = (
        f"correct. {timing.kind} time {timing.median_us:.1f} us, {timing.speedup:.2f}x the speed of the "
        f"{timing.reference} ({timing.reference_median_us:.1f} us)."
    )
    if profile is not None:
        return f"{text} {profile.bottleneck}"
    if timing.bandwidth_share is None or timing.operations_share is None:
        return text
    return (
        f"{text} It uses {timing.bandwidth_share:.0%} of the card's memory bandwidth and "
        f"{timing.operations_share:.0%} of its arithmetic."
    )


def contract_words(task: Task | ModuleTask, contract: str) -> str:
    """Why this contract does not go with this task."""
    if isinstance(task, ModuleTask):
        return f"task `{task.name}` is a PyTorch module: it takes the contracts extension and module"
    return (
        f"contract `{contract}` runs host code and needs a PyTorch module as its task; this is a kernel task"
    )


def unsafe_words(finding: Finding) -> str:
    """Why static analysis refuses a source."""
    where = f"line {finding.line}: " if finding.line else ""
    return f"refused before compiling. {where}{finding.words}"


def _element(output: str, index: tuple[int, ...], *, hidden: bool) -> str:
    if hidden:
        return f"an element of {output}"
    return f"{output}[{', '.join(str(i) for i in index)}]"


def _trait(name: str, size: int) -> str | None:
    if size == 1:
        return f"{name} is 1"
    if size % 32:
        return f"{name} is not a multiple of 32"
    return None
