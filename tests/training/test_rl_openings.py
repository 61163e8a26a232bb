"""First kernels for the optimizer: the same however often a run was stopped, and none that is good enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.agents.models.batched_generator import BatchedGenerator
from coding_framework.config import ConversationConfig, FrameworkConfig, JudgeConfig, RLConfig
from coding_framework.errors import TrainingError, TrainingInterrupted
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.storage import RecordReader
from coding_framework.records import (
    AgentRole,
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    Message,
    Verdict,
)
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.launch import RLJob
from coding_framework.training.rl.opening_player import play_openings
from coding_framework.training.rl.openings import DRAWS, Opening, chosen, read_openings, to_play
from coding_framework.training.rl.worker_settings import WorkerSettings
from tests_support import EvaluationFactory

TASK = "vector_add"


def turn(index: int, agent: AgentRole, evaluation: Evaluation) -> ConversationTurn:
    return ConversationTurn(
        index=index,
        agent=agent,
        messages=(Message(role="user", content="write"),),
        generation=Generation(text="", token_ids=(index,), log_probs=(0.0,)),
        evaluation=evaluation,
        reward=CUDAPerformanceReward()(evaluation),
    )


def opening(visit: int, *, is_open: bool = True, lost: bool = False) -> Opening:
    verdict = EvaluationFactory().failed(Verdict.COMPILE_ERROR)
    played = Conversation(
        conversation_id=f"o{visit}",
        task=TASK,
        turns=(turn(0, "generator", verdict),),
        stop_reason="max_turns" if is_open else "early_stop",
        discount=0.9,
        max_turns=1,
    )
    return Opening(visit=visit, task=TASK, played=None if lost else played)


def by_visit(*openings: Opening) -> dict[int, Opening]:
    return {one.visit: one for one in openings}


def test_as_many_more_are_played_as_were_no_use() -> None:
    assert to_play({}, 3, at_once=9) == [0, 1, 2]
    played = by_visit(opening(0), opening(1, is_open=False), opening(2, lost=True))
    assert to_play(played, 3, at_once=9) == [3, 4]
    played |= by_visit(opening(3), opening(4))
    assert to_play(played, 3, at_once=9) == []
    assert [one.visit for one in chosen(played, 3)] == [0, 3, 4]


def test_a_batch_that_was_played_in_part_is_played_whole() -> None:
    assert to_play({}, 5, at_once=2) == [0, 1]
    played = by_visit(opening(0), opening(1, is_open=False), opening(3), opening(4))
    assert to_play(played, 5, at_once=2) == [2, 3]
    played |= by_visit(opening(2))
    assert to_play(played, 5, at_once=2) == [5], (
        "what comes for the one that was no use is a batch of its own"
    )


def test_when_the_draws_are_used_up_what_was_found_is_all_there_is() -> None:
    played = by_visit(*(opening(visit, is_open=visit in (2, 5)) for visit in range(2 * DRAWS)))
    assert to_play(played, 2, at_once=9) == []
    assert to_play(played, 3, at_once=9) == [2 * DRAWS]
    played |= by_visit(*(opening(visit, is_open=False) for visit in range(2 * DRAWS, 3 * DRAWS)))
    assert to_play(played, 3, at_once=9) == []
    assert [one.visit for one in chosen(played, 3)] == [2, 5]
    assert [one.visit for one in chosen(played, 1)] == [2]
    assert chosen(by_visit(opening(0, is_open=False)), 1) == []


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return write_kernel_words_model(tmp_path_factory.mktemp("words") / "model", TASK)


def job(folder: Path, model: Path, *, early_stop_reward: float = 0.5) -> RLJob:
    config = FrameworkConfig(
        rl=RLConfig(adapters="per_agent", steps=3, prompts_per_step=1, group_size=2, num_gpus=0),
        conversation=ConversationConfig(
            max_turns=3, max_response_tokens=16, early_stop_reward=early_stop_reward
        ),
        judge=JudgeConfig(executor="emulator", workers=1),
    )
    config = resolve(config, look_at_machine())
    settings = WorkerSettings(
        run_dir=RunFolder.create(folder, None, "{}").path,
        conversation=config.conversation,
        reward=config.reward,
        judge=config.judge,
        agent="optimizer",
    )
    return RLJob(config=config, settings=settings, model_path=model, tasks=[TASK])


def what_was_said(openings: list[Opening]) -> list[tuple[int, str]]:
    return [(one.visit, one.turns[0].generation.text) for one in openings]


async def test_a_stopped_play_goes_on_where_it_was_and_gives_the_same(tmp_path: Path, model: Path) -> None:
    whole = await play_openings(job(tmp_path, model), model)
    assert len(whole) == 3
    for one in whole:
        assert [turn.agent for turn in one.turns] == ["generator"]
        assert one.turns[0].reward.total < 0.5
    stopped = job(tmp_path, model)
    answers = iter([False, True])
    with pytest.raises(TrainingInterrupted, match="openings"):
        await play_openings(stopped, model, lambda: next(answers))
    file = stopped.settings.openings_file
    before = read_openings(file)
    assert 0 < len(before) < 3
    with file.open("ab") as stream:
        stream.write(b'{"visit": 2, "ta')
    assert what_was_said(await play_openings(stopped, model)) == what_was_said(whole)
    assert read_openings(file).items() >= before.items(), "nothing was played twice"
    assert not list(RunFolder(stopped.settings.run_dir).read_conversations()), "openings are no episodes"


async def test_what_is_missing_of_a_batch_is_sampled_in_the_same_batch_again(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = job(tmp_path, model)
    whole = await play_openings(killed, model)
    file = killed.settings.openings_file
    file.write_text("".join(line for line in file.read_text().splitlines(True) if '"visit":1,' not in line))
    assert sorted(read_openings(file)) == [0, 2]
    batches: list[int] = []
    generate = BatchedGenerator.generate

    def listening(self: BatchedGenerator, prompts: Any, **settings: Any) -> Any:
        batches.append(len(prompts))
        return generate(self, prompts, **settings)

    monkeypatch.setattr(BatchedGenerator, "generate", listening)
    assert what_was_said(await play_openings(killed, model)) == what_was_said(whole)
    assert batches == [2]
    assert sorted(one.visit for one in RecordReader(file, Opening)) == [0, 1, 2], "each stands there once"


async def test_a_generator_that_leaves_nothing_to_do_is_said(tmp_path: Path, model: Path) -> None:
    with pytest.raises(TrainingError, match="nothing to do"):
        await play_openings(job(tmp_path, model, early_stop_reward=0.0), model)
