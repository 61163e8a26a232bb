"""What a tester asks for is had within bounds, or refused with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.agents import test_cases
from coding_framework.agents.system_prompts import MAX_EXTRA_CASES
from coding_framework.data.tasks import get_task
from coding_framework.records import Generation, ModuleTask, Task

MODULE = ModuleTask(name="m", source="ROWS = 64\nCOLS: int = 128  # columns\nNAME = 'x'\nclass Model: ...")


def ask(text: str, task: Task | ModuleTask) -> test_cases.ParsedTestCases:
    return test_cases.parse_test_cases(Generation(text=text), task)


def test_lines_become_cases() -> None:
    parsed = ask("// test: n=1023 large\nSome prose.\n// test: n=1\n", get_task("vector_add"))
    assert parsed.cases == (({"n": 1023}, "large"), ({"n": 1}, "normal"))
    assert parsed.reasons == ()


@pytest.mark.parametrize(
    "text",
    [
        "```\n// test: rows=3 cols=257 integers\n```",
        "1. `// test: rows=3, cols=257, integers`",
        "# test: cols = 257 rows = 3 integers\r\n",
        "<think>// test: rows=9 cols=9</think>\n- Test: rows=3 cols=257 integers",
    ],
)
def test_the_form_of_the_line_may_vary(text: str) -> None:
    assert ask(text, get_task("row_sum")).cases == (({"rows": 3, "cols": 257}, "integers"),)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("n=5 m=3", "a size for each of n"),
        ("large", "a size for each of n"),
        ("n=0", "at least 1"),
        ("n=-4", "a size for each of n"),
        ("n=400000", "more than 1,048,576 elements"),
        ("n=999999999999", "more than 1,048,576 elements"),
        ("n=5 huge", "name one distribution of normal, uniform"),
        ("n=5 large small", "name one distribution"),
        ("n=5 constant_rows", "inputs are drawn"),
        ("n=5.5", "a size for each of n"),
    ],
)
def test_what_cannot_be_had_is_refused_with_a_reason(line: str, reason: str) -> None:
    parsed = ask(f"// test: {line}\n// test: n=7", get_task("vector_add"))
    assert parsed.cases == (({"n": 7}, "normal"),)
    assert len(parsed.reasons) == 1
    assert reason in parsed.reasons[0]


def test_an_answer_without_cases_says_what_was_expected() -> None:
    parsed = ask("It looks fine to me.", get_task("vector_add"))
    assert parsed.cases == ()
    assert "// test: NAME=SIZE" in parsed.reasons[0]


def test_the_same_case_counts_once_and_only_the_first_few_are_used() -> None:
    text = "// test: n=1\n" * 3 + "".join(f"// test: n={n}\n" for n in range(2, 12))
    parsed = ask(text, get_task("vector_add"))
    assert [case.dimensions["n"] for case in parsed.cases] == [1, 2, 3, 4]
    assert parsed.reasons == (f"only the first {MAX_EXTRA_CASES} cases are used",)


def test_a_modules_sizes_are_its_integer_constants() -> None:
    assert ask("// test: ROWS=1 COLS=100 normal", MODULE).cases == (({"ROWS": 1, "COLS": 100}, "normal"),)
    assert "COLS, ROWS" in ask("// test: NAME=3", MODULE).reasons[0]
    assert "1 to 16,384" in ask("// test: ROWS=99999", MODULE).reasons[0]


@given(
    st.text(alphabet="/ test:n=0123456789_rowscl.large\n`#-", max_size=120),
    st.sampled_from(["vector_add", "matmul"]),
)
def test_any_text_gives_cases_within_bounds_or_reasons(text: str, name: str) -> None:
    task = get_task(name)
    parsed = ask(text, task)
    assert parsed.cases or parsed.reasons
    assert len(parsed.cases) <= MAX_EXTRA_CASES
    for dimensions, distribution in parsed.cases:
        assert set(dimensions) == set(task.dimensions)
        elements = sum(spec.num_elements(dimensions) for spec in (*task.inputs, *task.outputs))
        assert 1 <= elements <= test_cases.MAX_ELEMENTS
        assert distribution in (*task.distributions, "mixed")
