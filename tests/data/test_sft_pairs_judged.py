"""Short pairs of every kind, through the real judge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coding_framework.config import JudgeConfig, SFTConfig
from coding_framework.data.pair_records import SFTPair
from coding_framework.data.pairs.making import MadePairs
from coding_framework.data.pairs.workshop import Workshop, open_workshop
from coding_framework.data.tasks import get_task
from coding_framework.records import Evaluation, Message, Task

HELD_OUT = ("scale", "gelu", "bias_relu", "row_sum")


def prompt(task: Task) -> tuple[Message, ...]:
    return (Message(role="user", content=task.prompt),)


def optimizer_prompt(task: Task, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    return (Message(role="user", content=f"{task.prompt}\n{source}\n{evaluation.message}"),)


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    tasks = (get_task("rms_norm"), get_task("row_sum"))
    config = JudgeConfig(workers=1, executor="emulator")
    with open_workshop(config, tasks, HELD_OUT, 5, prompt, optimizer_prompt) as opened:
        yield opened


@pytest.fixture(scope="module")
def made(workshop: Workshop) -> MadePairs:
    return workshop.make(workshop.wanted(SFTConfig(pairs=16)))


def of_kind(made: MadePairs, kind: str) -> list[SFTPair]:
    return [pair for pair in made.pairs if pair.kind == kind]


def test_as_many_pairs_are_made_as_were_asked_for(made: MadePairs) -> None:
    assert made.short == {}
    assert len(of_kind(made, "write")) == 12
    assert len(of_kind(made, "repair")) + len(of_kind(made, "optimise")) == 4
    assert set(made.rejected) <= {"not faster", "mistake passes", "duplicate"}


def test_the_short_kernels_of_the_tasks_come_first_and_nothing_that_is_held_out(made: MadePairs) -> None:
    assert of_kind(made, "write")[0].task == "rms_norm"
    assert of_kind(made, "optimise")[0].task == "rms_norm"
    assert of_kind(made, "optimise")[0].speedup > 1.5
    assert "row_sum" not in {pair.task for pair in made.pairs}


def test_a_repair_shows_what_the_judge_said_of_a_mistake(made: MadePairs) -> None:
    (first, *_) = of_kind(made, "repair")
    assert first.mistake
    assert first.source not in first.messages[0].content
