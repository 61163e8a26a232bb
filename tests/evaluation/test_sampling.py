"""Sampling a model: what is asked, what is handed over, and what is not asked again."""

from __future__ import annotations

import pytest

from coding_framework.config import load_config
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import get_task
from coding_framework.errors import JudgeFault
from coding_framework.evaluation.sampling import take_samples
from coding_framework.evaluation.subjects import catalogue_suite
from coding_framework.monitoring.figures import by_task
from coding_framework.records import (
    Candidate,
    Conversation,
    Evaluation,
    EvaluationSample,
    Generation,
    GenerationRequest,
    Task,
    Verdict,
)
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward

CONFIG = load_config(
    "quick", ["evaluation.samples_per_task=3", 'tasks.held_out=["scale"]', 'tasks.train=["vector_add"]']
)
SUBJECTS = catalogue_suite(CONFIG).subjects
ONLY_WHAT_IS_LARGE = """// launch: scale grid=(ceil_div(n, 64)) block=(64)
extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n && n > 64) y[i] = 2.5f * x[i];
}
"""


class HalfTrainedModel:
    """Knows how to scale, answers everything else with prose, and gets every third answer wrong."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, request: GenerationRequest) -> Generation:
        if "Scale" not in request.messages[-1].content:
            return Generation(text="I have not learned that.")
        self.asked += 1
        source = get_task("scale").baseline if self.asked % 3 else ONLY_WHAT_IS_LARGE
        return Generation(text=f"```cuda\n{source}\n```")


async def sampled(model: HalfTrainedModel, stored: set[tuple[str, int]]) -> list[EvaluationSample]:
    samples: list[EvaluationSample] = []

    def keep(conversation: Conversation, sample: EvaluationSample) -> None:
        assert conversation.phase == "evaluation"
        assert conversation.conversation_id == sample.conversation_id
        samples.append(sample)

    with JudgePool(CONFIG.judge) as pool:
        await take_samples(
            model,
            SUBJECTS,
            CONFIG,
            label="base",
            stored=stored,
            judge=pool.judge_async,
            reward=CUDAPerformanceReward(),
            on_sample=keep,
        )
    return samples


async def test_every_sample_says_what_became_of_it() -> None:
    samples = by_task(await sampled(HalfTrainedModel(), set()))
    assert [len(samples[name]) for name in ("scale", "vector_add")] == [3, 3]
    scale, vector_add = samples["scale"], samples["vector_add"]
    assert sorted(one.best_turn.passed for one in scale) == [False, True, True]
    wrong = next(one.turns[0] for one in scale if not one.best_turn.passed)
    assert (wrong.verdict, wrong.failed_on, wrong.compiled) == (Verdict.WRONG_RESULT, "hidden", True)
    assert {(one.split, one.tier, one.family) for one in scale} == {("held_out", 0, "scaling")}
    assert {turn.time_kind for one in scale for turn in one.turns if turn.passed} == {"modelled"}
    assert {turn.verdict for one in vector_add for turn in one.turns} == {Verdict.NO_CANDIDATE}
    assert {one.split for one in vector_add} == {"trained"}


async def test_what_is_stored_is_not_asked_again() -> None:
    model = HalfTrainedModel()
    samples = await sampled(model, {("scale", 0), ("scale", 2), ("vector_add", 1)})
    assert sorted(one.key for one in samples) == [("scale", 1), ("vector_add", 0), ("vector_add", 2)]
    assert model.asked == 1


async def test_a_fault_of_the_judge_is_not_counted_as_a_failure_of_the_model() -> None:
    async def broken(task: Task, candidate: Candidate) -> Evaluation:
        raise JudgeFault("no worker")

    with pytest.raises(JudgeFault):
        await take_samples(
            HalfTrainedModel(),
            SUBJECTS,
            CONFIG,
            label="base",
            stored=set(),
            judge=broken,  # type: ignore[arg-type]
            reward=CUDAPerformanceReward(),
            on_sample=lambda *_: None,
        )
