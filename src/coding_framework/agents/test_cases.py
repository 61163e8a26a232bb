"""What the tester answers: sizes and inputs on which a candidate may fail, read from its lines.

    // test: n=1023 large
    // test: rows=1 cols=257 outliers

Guarantees: never raises whatever the text; at most `MAX_EXTRA_CASES` different cases, each of which names
every dimension of the task, with arrays of at most `MAX_ELEMENTS` elements together; whatever else is
asked for is refused with a reason. It does not run anything, and says nothing about hidden shapes.
"""

from __future__ import annotations

import re
from math import prod
from typing import NamedTuple, get_args

from coding_framework.agents.answer_text import clean_text
from coding_framework.agents.system_prompts import MAX_EXTRA_CASES
from coding_framework.errors import ExpressionError
from coding_framework.records import Distribution, Generation, ModuleTask, Record, Task

MAX_ELEMENTS = 2**20
"""Of all arrays of a case together: a second on the emulator."""
MAX_CONSTANT = 2**14
"""Of a module's constants, whose arrays are not known before it runs."""
_MAX_LINES = 64
_CASE = re.compile(r"[\s>*`-]*+(?:\d++\.[\s`]*+)?(?://|#)?\s*+test\s*+:\s*+(?P<rest>[^`]*+)", re.IGNORECASE)
_SIZE = re.compile(r"([A-Za-z_]\w*)\s*=\s*([\d_]{1,12})(?![\w.])")
_CONSTANT = re.compile(r"^([A-Za-z_]\w*)\s*(?::\s*int\s*)?=\s*\d+\s*(?:#.*)?$", re.MULTILINE)
_DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


class ExtraCase(NamedTuple):
    """One more input to judge a candidate on."""

    dimensions: dict[str, int]
    """A size for every dimension (for a module: for every constant that is named)."""
    distribution: Distribution
    """How the inputs are drawn."""


class ParsedTestCases(Record):
    """What a tester asked for, as far as it can be had."""

    cases: tuple[ExtraCase, ...] = ()
    """In order, none twice."""
    reasons: tuple[str, ...] = ()
    """Why lines were refused, or why there is no case at all."""


def parse_test_cases(generation: Generation, task: Task | ModuleTask) -> ParsedTestCases:
    """The cases of an answer; empty with a reason where there are none."""
    cases: dict[str, ExtraCase] = {}
    reasons: list[str] = []
    for line in _lines(generation.text):
        read = _read(line, task)
        if isinstance(read, str):
            reasons.append(read)
        elif repr(read) not in cases:
            if len(cases) == MAX_EXTRA_CASES:
                reasons.append(f"only the first {MAX_EXTRA_CASES} cases are used")
                break
            cases[repr(read)] = read
    if not cases and not reasons:
        reasons.append("the answer holds no line of the form  // test: NAME=SIZE DISTRIBUTION")
    return ParsedTestCases(cases=tuple(cases.values()), reasons=tuple(dict.fromkeys(reasons)))


def _lines(text: str) -> list[str]:
    found = (_CASE.match(line) for line in clean_text(text).split("\n"))
    return [match["rest"].strip()[:200] for match in found if match is not None][:_MAX_LINES]


def _read(line: str, task: Task | ModuleTask) -> ExtraCase | str:
    """The case, or why there is none."""
    sizes = {name: int(size.replace("_", "") or "0") for name, size in _SIZE.findall(line)}
    problem = _module_problem(sizes, task) if isinstance(task, ModuleTask) else _size_problem(sizes, task)
    if problem is not None:
        return f"`{line[:80]}`: {problem}"
    words = [word for word in re.findall(r"[A-Za-z_]\w*", _SIZE.sub(" ", line)) if word != "and"]
    if len(words) > 1 or not set(words) <= set(_DISTRIBUTIONS):
        return f"`{line[:80]}`: name one distribution of {', '.join(_DISTRIBUTIONS)}"
    distribution = next((known for known in _DISTRIBUTIONS if known in words), _default_distribution(task))
    if not isinstance(task, ModuleTask) and distribution not in (*task.distributions, "mixed"):
        allowed = ", ".join(task.distributions)
        return f"`{line[:80]}`: this task's inputs are drawn {allowed}"
    return ExtraCase(sizes, distribution)


def _default_distribution(task: Task | ModuleTask) -> Distribution:
    return "normal" if isinstance(task, ModuleTask) else task.distributions[0]


def _size_problem(sizes: dict[str, int], task: Task) -> str | None:
    if set(sizes) != set(task.dimensions):
        return f"give a size for each of {', '.join(task.dimensions)}, and for nothing else"
    if min(sizes.values()) < 1:
        return "sizes are at least 1"
    if prod(sizes.values()) > 2**40:
        return f"the arrays have more than {MAX_ELEMENTS:,} elements"
    try:
        elements = sum(spec.num_elements(sizes) for spec in (*task.inputs, *task.outputs))
        smallest = min(min(spec.extents(sizes), default=1) for spec in (*task.inputs, *task.outputs))
    except ExpressionError as error:
        return str(error)
    if smallest < 1:
        return "an array would be empty"
    return f"the arrays have more than {MAX_ELEMENTS:,} elements" if elements > MAX_ELEMENTS else None


def _module_problem(sizes: dict[str, int], task: ModuleTask) -> str | None:
    constants = set(_CONSTANT.findall(task.source))
    if not sizes or not set(sizes) <= constants:
        known = ", ".join(sorted(constants)) or "none here"
        return f"name integer constants of the module ({known})"
    if not all(1 <= size <= MAX_CONSTANT for size in sizes.values()):
        return f"constants are from 1 to {MAX_CONSTANT:,}"
    return None
