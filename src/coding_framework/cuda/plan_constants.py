"""Puts the source's own integer constants into its launch plan: `block=(BLOCK)` with `#define BLOCK 256`.

Names of the task's dimensions and of buffers come first: a constant of the same name is not looked at.
Guarantees: what reads a plan later meets dimensions, buffers and numbers only, as if the number had been
written; a plan without other names costs nothing. What counts as a constant stands in
`analysis/source_constants.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from coding_framework.cuda.analysis.source_constants import SourceConstants, source_constants
from coding_framework.cuda.plan_lines import ContractViolation
from coding_framework.errors import ExpressionError
from coding_framework.records import Expression, Launch, LaunchPlan, ScratchBuffer

_MAX_NAMES_SHOWN = 10
_SHOWN_CHARS = 80


def with_constants(
    plan: LaunchPlan, source: str, *, dimensions: frozenset[str], buffers: frozenset[str]
) -> tuple[LaunchPlan, SourceConstants]:
    """The plan with numbers for the constants of the source that it may name, and which these are."""
    if _names_of_values(plan, buffers) <= dimensions:
        return plan, SourceConstants()
    constants = _usable(source_constants(source), dimensions, buffers)
    launches = tuple(_launch(launch, constants.values) for launch in plan.launches)
    scratch = tuple(_scratch(buffer, constants.values) for buffer in plan.scratch)
    return LaunchPlan(launches=launches, scratch=scratch), constants


def constant_words(constants: SourceConstants, name: str) -> str:
    """What to add to a complaint about a name that a plan may not use: why, and which constants it may."""
    reason = constants.refused.get(name)
    why = f"; the constant `{name[:_SHOWN_CHARS]}` of the source is not used: {reason}" if reason else ""
    if not constants.values:
        return why
    shown = ", ".join(known[:_SHOWN_CHARS] for known in list(constants.values)[:_MAX_NAMES_SHOWN])
    more = len(constants.values) - _MAX_NAMES_SHOWN
    return f"{why}; constants of the source: {shown}" + (f" and {more} more" if more > 0 else "")


def _usable(found: SourceConstants, dimensions: frozenset[str], buffers: frozenset[str]) -> SourceConstants:
    values = {name: value for name, value in found.values.items() if name not in dimensions | buffers}
    named = {name: "a buffer has that name" for name in found.values if name in buffers}
    return SourceConstants(values=values, refused={**found.refused, **named})


def _names_of_values(plan: LaunchPlan, buffers: frozenset[str]) -> frozenset[str]:
    """All names but those of buffers in `args`."""
    expressions = [buffer.num_elements for buffer in plan.scratch]
    for launch in plan.launches:
        expressions += [*launch.grid, *launch.block, launch.shared_bytes]
        expressions += [argument for argument in launch.arguments if argument.text not in buffers]
    return frozenset[str]().union(*(expression.names for expression in expressions))


def _launch(launch: Launch, values: dict[str, int]) -> Launch:
    put = _putting(values, launch.line)
    grid, block = ((put(x), put(y), put(z)) for x, y, z in (launch.grid, launch.block))
    return launch.model_copy(
        update={
            "grid": grid,
            "block": block,
            "shared_bytes": put(launch.shared_bytes),
            "arguments": tuple(put(argument) for argument in launch.arguments),
        }
    )


def _scratch(buffer: ScratchBuffer, values: dict[str, int]) -> ScratchBuffer:
    return buffer.model_copy(update={"num_elements": _putting(values, buffer.line)(buffer.num_elements)})


def _putting(values: dict[str, int], line: int) -> Callable[[Expression], Expression]:
    def put(expression: Expression) -> Expression:
        try:
            return expression.with_values(values)
        except ExpressionError as error:
            raise ContractViolation(f"line {line}: {error}", line) from None

    return put
