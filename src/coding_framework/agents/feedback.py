"""The judge's verdict as the next turn's prompt tells it: what went wrong, where, and what to change.

`Evaluation.message` is one sentence for people and tables. An agent is helped by more, as long as it is
short: the first compiler errors under their source lines, the first wrong elements, the counters of the
bottleneck. Guarantees: deterministic, at most `max_chars` long, and nothing about a hidden shape beyond
what the judge's own words may say (what is special about it, never its sizes, elements or values).
"""

from __future__ import annotations

import re

from coding_framework.agents.advice import advice_lines, code_line
from coding_framework.cuda.verdicts import shape_words
from coding_framework.records import (
    CompilationResult,
    Diagnostic,
    Evaluation,
    Gate,
    KernelResources,
    KernelTiming,
    ModuleTask,
    ShapeCheck,
    Task,
    Verdict,
    WrongElement,
)

MAX_FEEDBACK_CHARS = 800
"""About 280 tokens: a seventh of a prompt of 2,048."""
MAX_ERRORS = 2
MAX_WRONG_ELEMENTS = 3
_MAX_CODE_CHARS = 120
_QUOTED = re.compile(r'"([^"]+)"')


def feedback(task: Task | ModuleTask, evaluation: Evaluation, *, max_chars: int = MAX_FEEDBACK_CHARS) -> str:
    """What the judge found, in the words of the next prompt."""
    lines = _verdict_lines(task, evaluation)
    for line in advice_lines(task, evaluation):
        if len("\n".join([*lines, line])) <= max_chars:  # half a piece of advice helps nobody
            lines.append(line)
    return shorten("\n".join(lines), max_chars)


def shorten(words: str, max_chars: int) -> str:
    """Cut at a line or a word, and say so."""
    if len(words) <= max_chars:
        return words
    kept = words[: max(max_chars - 2, 0)]
    place = max(kept.rfind("\n"), kept.rfind(" "))
    cut = (kept[:place] if place > max_chars // 2 else kept).rstrip()
    return f"{cut} …"[:max_chars]


def _verdict_lines(task: Task | ModuleTask, evaluation: Evaluation) -> list[str]:
    if evaluation.timing is not None:
        return _passed_lines(evaluation, evaluation.timing)
    if evaluation.verdict is Verdict.COMPILE_ERROR and evaluation.compilation is not None:
        return _compile_lines(evaluation, evaluation.compilation)
    failed = next((check for check in evaluation.checks if not check.passed), None)
    if evaluation.verdict is Verdict.WRONG_RESULT and failed is not None:
        return _wrong_lines(task, evaluation, failed)
    return _fault_lines(evaluation)


def _compile_lines(evaluation: Evaluation, compilation: CompilationResult) -> list[str]:
    """The first errors, each under its line with a caret where it is known."""
    if not compilation.errors:
        return [f"It does not compile: {evaluation.message}"]
    lines = ["It does not compile."]
    for error in compilation.errors[:MAX_ERRORS]:
        lines += _error_lines(error, evaluation)
    more = len(compilation.errors) - MAX_ERRORS
    if more > 0:
        lines.append(f"({more} more {'error' if more == 1 else 'errors'} after that.)")
    return lines


def _error_lines(error: Diagnostic, evaluation: Evaluation) -> list[str]:
    where = f"line {error.line}: " if error.line else ""
    lines = [shorten(f"{where}error: {error.message}", 240)]
    code = error.source_line
    if code is None or not code.strip():
        return lines
    at = _error_place(error, code)
    if _is_missing_before(error, code, at):
        before = code_line(evaluation, (error.line or 0) - 1)
        lines += [f"    {before[:_MAX_CODE_CHARS]}"] if before else []
    indent = len(code) - len(code.lstrip())
    start = max(indent, (at or 0) - _MAX_CODE_CHARS // 2) if len(code) > _MAX_CODE_CHARS else indent
    lines.append(f"    {code[start : start + _MAX_CODE_CHARS].rstrip()}")
    return lines if at is None or at < start else [*lines, f"    {' ' * (at - start)}^"]


def _is_missing_before(error: Diagnostic, code: str, at: int | None) -> bool:
    """What is expected at the first mark of a line is missing at the end of the one before."""
    return error.message.startswith("expected") and at is not None and not code[:at].strip()


def _error_place(error: Diagnostic, code: str) -> int | None:
    """Where the compiler points, or else the word that it names."""
    if error.column is not None:
        return error.column - 1 if error.column <= len(code) else None
    for name in _QUOTED.findall(error.message):
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code)
        if match is not None:
            return match.start()
    return None


def _wrong_lines(task: Task | ModuleTask, evaluation: Evaluation, check: ShapeCheck) -> list[str]:
    """How much is wrong, and on a visible shape what the first wrong elements should have been."""
    if isinstance(task, ModuleTask) or not check.wrong_elements:
        return _fault_lines(evaluation)
    shape = shape_words(task, check.dimensions, hidden=check.hidden)
    total = sum(spec.num_elements(check.dimensions) for spec in task.outputs)
    share = _share_words(check.num_wrong, total, hidden=check.hidden)
    head = f"Wrong result for {shape} with {check.distribution} inputs: {share}."
    if check.hidden:
        return [head, _hidden_hint(check.wrong_elements[0])]
    shown = [_element_words(element) for element in check.wrong_elements[:MAX_WRONG_ELEMENTS]]
    lines = [head, "\n".join(shown)]
    if any(_is_unwritten(element) for element in check.wrong_elements[:MAX_WRONG_ELEMENTS]):
        lines.append("NaN means never written: check that the grid covers every element.")
    return lines


def _share_words(num_wrong: int, total: int, *, hidden: bool) -> str:
    if not hidden:
        return f"{num_wrong} of {total} elements are wrong"
    if num_wrong >= total:
        return "every element is wrong"
    return "most elements are wrong" if 2 * num_wrong > total else "some elements are wrong"


def _hidden_hint(first: WrongElement) -> str:
    if _is_unwritten(first):
        return f"Elements of {first.output} were never written: check that the grid covers all of them."
    return "Check the bounds, and every size that is not a multiple of the block."


def _is_unwritten(element: WrongElement) -> bool:
    return element.actual != element.actual and element.expected == element.expected


def _element_words(element: WrongElement) -> str:
    index = ", ".join(str(i) for i in element.index)
    return f"  {element.output}[{index}]: expected {element.expected:.6g}, got {element.actual:.6g}"


def _fault_lines(evaluation: Evaluation) -> list[str]:
    """The judge's own words, and the line of the source that they speak of."""
    message = evaluation.message.strip()
    lines = [message[:1].upper() + message[1:]]
    line = evaluation.source_line
    if line is not None and evaluation.verdict.gate not in (Gate.CONTRACT, Gate.SAFETY):
        code = code_line(evaluation, line)
        if code:
            lines.append(f"line {line}: {code[:_MAX_CODE_CHARS]}")
    return lines


def _passed_lines(evaluation: Evaluation, timing: KernelTiming) -> list[str]:
    lines = [f"Correct, and {_speed_words(timing)}."]
    if evaluation.profile is not None:
        lines.append(evaluation.profile.bottleneck)
    elif timing.bandwidth_share is not None and timing.operations_share is not None:
        lines.append(
            f"It uses {timing.bandwidth_share:.0%} of the card's memory bandwidth and "
            f"{timing.operations_share:.0%} of its arithmetic."
        )
    spilled = sum(r.spill_store_bytes + r.spill_load_bytes for r in _resources(evaluation))
    if spilled:
        lines.append(f"Registers spill {spilled} bytes a thread to local memory: keep fewer values alive.")
    return lines


def _resources(evaluation: Evaluation) -> tuple[KernelResources, ...]:
    return evaluation.compilation.resources if evaluation.compilation is not None else ()


def _speed_words(timing: KernelTiming) -> str:
    """The speedup, whether it was measured or modelled, how sure it is, and how far it could go."""
    interval = speedup_interval(timing)
    certainty = "modelled"
    if interval is not None:
        certainty = f"measured, 95 % interval {interval[0]:.2f}x to {interval[1]:.2f}x"
    return (
        f"{timing.speedup:.2f}x the speed of the {timing.reference} ({certainty}): {timing.median_us:.3g} us "
        f"against {timing.reference_median_us:.3g} us; the least possible is {timing.floor_us:.3g} us"
    )


def speedup_interval(timing: KernelTiming) -> tuple[float, float] | None:
    """The widest that the intervals of both medians allow; None for a model, which has no noise."""
    if timing.interval_us is None:
        return None
    low, high = timing.interval_us
    reference = timing.reference_interval_us or (timing.reference_median_us, timing.reference_median_us)
    return reference[0] / high, reference[1] / low
