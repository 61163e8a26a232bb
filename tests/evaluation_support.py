"""Evaluations with known outcomes, as they lie in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coding_framework.config import RewardConfig
from coding_framework.monitoring.evaluation_folder import (
    EvaluatedTask,
    EvaluationFolder,
    EvaluationHead,
    EvaluationSettings,
)
from coding_framework.records import EvaluationSample, SampleTurn, TaskSplit, TimeKind, Verdict

DEVICE = "NVIDIA H200 (model)"
SETTINGS = EvaluationSettings(
    max_turns=2,
    temperature=0.6,
    max_prompt_tokens=900,
    max_response_tokens=288,
    early_stop_reward=0.8,
    tester=False,
    reward=RewardConfig(),
    executor="emulator",
    architecture="sm_90",
    engine="transformers",
    dtype="float32",
)


def passed(speedup: float = 1.0, kind: TimeKind = "modelled", device: str = DEVICE) -> SampleTurn:
    return SampleTurn(
        agent="generator",
        verdict=Verdict.PASSED,
        compiled=True,
        speedup=speedup,
        time_kind=kind,
        device=device,
        candidate="0" * 16,
    )


def failed(verdict: Verdict = Verdict.COMPILE_ERROR, *, hidden: bool | None = None) -> SampleTurn:
    on = None if hidden is None else "hidden" if hidden else "visible"
    compiled = verdict.gate.value in ("run", "check", "time")
    return SampleTurn.model_validate(
        {"agent": "generator", "verdict": verdict, "compiled": compiled, "failed_on": on}
    )


def task(name: str, tier: int = 0, split: TaskSplit = "held_out", digest: str = "same") -> EvaluatedTask:
    return EvaluatedTask(name=name, tier=tier, family="family", split=split, contract="kernel", digest=digest)


def sample(of: EvaluatedTask, number: int, *turns: SampleTurn, model: str = "model") -> EvaluationSample:
    return EvaluationSample(
        model=model,
        task=of.name,
        tier=of.tier,
        family=of.family,
        split=of.split,
        seed=17,
        number=number,
        turns=turns,
        conversation_id=f"{model}-{of.name}-{number}",
    )


def head(asked: Sequence[EvaluatedTask], samples: int, label: str = "model", **others: Any) -> EvaluationHead:
    return EvaluationHead.model_validate(
        {
            "label": label,
            "model": f"models/{label}",
            "weights": label,
            "seed": 17,
            "samples_per_task": samples,
            "settings": SETTINGS,
            "tasks": tuple(asked),
            "version": "0",
        }
        | others
    )


Outcomes = dict[EvaluatedTask, Sequence[Sequence[SampleTurn]]]
"""Of each task its samples, of each sample its turns."""


def samples_of(outcomes: Outcomes, label: str = "model") -> list[EvaluationSample]:
    return [
        sample(of, number, *turns, model=label)
        for of, own in outcomes.items()
        for number, turns in enumerate(own)
    ]


def write(path: Path, outcomes: Outcomes, label: str = "model", **others: Any) -> EvaluationFolder:
    """A finished evaluation; every task has as many samples as the first."""
    folder = EvaluationFolder(path)
    folder.begin(head(list(outcomes), len(next(iter(outcomes.values()))), label, **others))
    for one in samples_of(outcomes, label):
        folder.append(one)
    return folder
