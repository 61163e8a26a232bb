"""A fault of ours never becomes a reward; everything else is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.config import ConversationConfig, JudgeConfig, RewardConfig
from coding_framework.errors import WorkerDied
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import Candidate, Evaluation, Generation, GenerationRequest, Task
from coding_framework.training.rl.episode_runner import EpisodeFault, EpisodeRunner, turn_samples
from coding_framework.training.rl.judge_counts import JudgeCounts
from coding_framework.training.rl.step_reports import conversation_values
from coding_framework.training.rl.worker_settings import WorkerSettings
from tests_support import EvaluationFactory

ANSWER = '```cuda\nextern "C" __global__ void k(float* y) {}\n```'

ADDS = """```cuda
// launch: add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
```"""


class FlakyJudge:
    """Fails the first `faults` times."""

    def __init__(self, faults: int, error: Exception | None = None) -> None:
        self.faults = faults
        self.error = error or WorkerDied("the worker is gone")
        self.calls = 0

    async def __call__(self, task: Task, candidate: Candidate) -> Evaluation:
        self.calls += 1
        if self.calls <= self.faults:
            raise self.error
        return EvaluationFactory().passed(speedup=1.5)


async def answer(request: GenerationRequest) -> Generation:
    turn = 0 if request.agent == "generator" else 1
    return Generation(text=ANSWER, prompt_token_ids=(1, 2), token_ids=(3 + turn, 4), log_probs=(-0.5, -0.25))


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    run = RunFolder.create(tmp_path, "run", "{}")
    made = WorkerSettings(
        run_dir=run.path,
        conversation=ConversationConfig(max_turns=3, early_stop_reward=1.0, discount=0.5),
        reward=RewardConfig(),
        judge=JudgeConfig(executor="emulator"),
    )
    made.write()
    return made


def faults_of(settings: WorkerSettings) -> list[EpisodeFault]:
    if not settings.fault_file.exists():
        return []
    return [EpisodeFault.model_validate_json(line) for line in settings.fault_file.read_bytes().splitlines()]


async def test_a_finished_episode_is_appended_to_the_run(settings: WorkerSettings) -> None:
    conversation = await EpisodeRunner(settings, FlakyJudge(0)).run(
        "vector_add", answer, step=4, episode="step4n0-0"
    )
    assert conversation is not None
    stored = list(RunFolder(settings.run_dir).read_conversations())
    assert [one.conversation_id for one in stored] == [conversation.conversation_id]
    assert (stored[0].step, stored[0].phase, stored[0].task) == (4, "train", "vector_add")


async def test_what_the_judge_counted_is_written_down_by_episode(
    settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path / "cache"))
    one = settings.model_copy(update={"judge": settings.judge.model_copy(update={"workers": 1})})
    runner = EpisodeRunner(one)

    async def adds(request: GenerationRequest) -> Generation:
        return Generation(text=ADDS, prompt_token_ids=(1,), token_ids=(2,), log_probs=(-0.5,))

    for step in (1, 2):
        await runner.run("vector_add", adds, step=step, episode=f"step{step}n0-0")
    lines = [JudgeCounts.model_validate_json(line) for line in one.judge_file.read_bytes().splitlines()]
    first, second = (line.counts for line in lines)
    assert [line.step for line in lines] == [1, 2]
    assert (first.judged, first.compiled, first.compile_cache_hits) == (1, 1, 0)
    assert (second.judged, second.compiled, second.compile_cache_hits) == (0, 0, 0)
    assert second.remembered >= 1
    assert first.waited_s > 0


async def test_one_fault_of_the_judge_is_retried(settings: WorkerSettings) -> None:
    assert (
        await EpisodeRunner(settings, FlakyJudge(1)).run("vector_add", answer, step=1, episode="step1n0-0")
        is not None
    )
    assert faults_of(settings) == []


async def test_a_second_fault_drops_the_episode_and_is_counted(settings: WorkerSettings) -> None:
    assert (
        await EpisodeRunner(settings, FlakyJudge(99)).run("vector_add", answer, step=2, episode="step2n0-0")
        is None
    )
    (fault,) = faults_of(settings)
    assert (fault.step, fault.task, fault.fatal) == (2, "vector_add", False)
    assert "the worker is gone" in fault.error
    assert list(RunFolder(settings.run_dir).read_conversations()) == []


async def test_a_defect_is_fatal(settings: WorkerSettings) -> None:
    runner = EpisodeRunner(settings, FlakyJudge(99, KeyError("oops")))
    with pytest.raises(KeyError), runner.fatal_faults("vector_add", 3):
        await runner.run("vector_add", answer, step=3, episode="step3n0-0")
    assert [fault.fatal for fault in faults_of(settings)] == [True]


async def test_every_turn_is_a_sample_with_its_own_ids_and_return(settings: WorkerSettings) -> None:
    conversation = await EpisodeRunner(settings, FlakyJudge(0)).run(
        "vector_add", answer, step=1, episode="step1n0-0"
    )
    assert conversation is not None
    samples = turn_samples(conversation)
    assert [sample.turn for sample in samples] == [0, 1, 2]
    assert [sample.response_ids for sample in samples] == [(3, 4), (4, 4), (4, 4)]
    assert all(sample.prompt_ids == (1, 2) and sample.log_probs == (-0.5, -0.25) for sample in samples)
    rewards = [turn.reward.total for turn in conversation.turns]
    assert samples[2].value == pytest.approx(rewards[2])
    assert samples[0].value == pytest.approx(rewards[0] + 0.5 * rewards[1] + 0.25 * rewards[2])


async def test_turns_of_an_opening_are_context_and_no_samples(settings: WorkerSettings) -> None:
    runner = EpisodeRunner(settings, FlakyJudge(0))
    whole = await runner.run("vector_add", answer, step=1, episode="step1n0-0")
    assert whole is not None
    conversation = await runner.run(
        "vector_add", answer, step=2, episode="step2n0-0", opening=whole.turns[:1]
    )
    assert conversation is not None
    assert conversation.turns[0] == whole.turns[0]
    assert [turn.agent for turn in conversation.own_turns] == ["optimizer", "optimizer"]
    assert conversation.best_turn in conversation.own_turns
    samples, of_the_whole = turn_samples(conversation), turn_samples(whole)
    assert [sample.turn for sample in samples] == [1, 2]
    assert [sample.value for sample in samples] == [sample.value for sample in of_the_whole[1:]]
    values = conversation_values([conversation], [], lambda _: 0)
    assert (values["turns_mean"], values["new_tokens"]) == (2, 4)


def test_settings_reach_a_worker_through_the_environment(
    settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODING_FRAMEWORK_RL_WORKER", str(settings.rl_dir / "worker.json"))
    assert WorkerSettings.from_environment() == settings
