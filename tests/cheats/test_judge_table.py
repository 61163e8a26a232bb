"""The table of the suite: faults are rows, and each executor's table stays in its own place."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from coding_framework.records import Candidate, Evaluation, ModuleTask, Task
from judge_suite import Row, cheat_row, manifest

SCRIPT = Path(__file__).parents[2] / "scripts" / "judge_table.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge_table", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Broken:
    """A judge that fails on everything."""

    def judge(self, task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        raise RuntimeError("out of order")


def row(outcome: str, *, as_wanted: bool, exploits: tuple[str, ...] = ("1",)) -> Row:
    return Row(
        name="kernel/some",
        contract="kernel",
        exploits=exploits,
        outcome=outcome,
        speedup=None,
        as_wanted=as_wanted,
        seconds=0.5,
        message="words",
    )


def test_a_fault_of_the_judge_is_a_row_that_is_not_as_wanted() -> None:
    found = cheat_row(Broken(), manifest().cheat[0], "emulator")
    assert (found.outcome, found.as_wanted) == ("fault", False)
    assert "out of order" in found.message


def test_rows_come_back_from_their_file_whatever_was_found(script: ModuleType) -> None:
    rows = [row("wrong_result", as_wanted=False).model_copy(update={"budget_share": float("inf")})]
    text = script.ROWS.dump_json(rows)
    assert script.ROWS.validate_json(text) == rows
    assert b'"Infinity"' in text, "a bare Infinity is no JSON"


def test_the_table_counts_what_was_caught_missed_and_falsely_refused(script: ModuleType) -> None:
    rows = [
        row("wrong_result", as_wanted=True),
        row("passed", as_wanted=True),
        row("passed", as_wanted=False),
        row("fault", as_wanted=False),
        row("unsafe", as_wanted=False, exploits=()),
    ]
    text = "\n".join(script.table(rows, manifest(), "emulator"))
    assert "| **fault**, **passed**, no gain, wrong_result |" in text
    assert "4 cheats, 1 caught, 1 passed without any gain, 2 not stopped as stated" in text
    assert "1 honest candidates, 1 false alarms" in text
    assert "1 faults of the judge" in text


def test_each_executor_keeps_its_own_place_in_the_document(script: ModuleType) -> None:
    document = "# Judge\n\n<!-- judge-table:start -->\n<!-- judge-table:end -->\n\nafter\n"
    document = script.between_markers(document, ["first"], "emulator")
    document = script.between_markers(document, ["second"], "gpu")
    document = script.between_markers(document, ["third"], "emulator")
    assert "first" not in document
    assert document.index("judge-table:start") < document.index("third") < document.index("second")
    assert document.index("second") < document.index("judge-table:end") < document.index("after")
    assert document.count("emulator:start") == 1
