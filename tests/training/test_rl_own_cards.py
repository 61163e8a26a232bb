"""Parts with cards of their own, as far as processes without cards show it: who gets which weights, when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernel_words_model import write_kernel_words_model

from coding_framework.config import (
    ConversationConfig,
    FrameworkConfig,
    GPUAllocation,
    JudgeConfig,
    RLConfig,
)
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.placement import rollout_cards, servers_of
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")

TASK = "vector_add"
SAME_WEIGHTS = 1e-4
"""Most that rounding in float32 moves a log-probability; an update at this learning rate moves it more."""


def config(gpus: GPUAllocation, *, lora_rank: int = 4, kl_coef: float = 0.0) -> FrameworkConfig:
    return FrameworkConfig(
        rl=RLConfig(
            steps=3,
            prompts_per_step=2,
            group_size=4,
            save_every=3,
            learning_rate=1e-2,
            lora_rank=lora_rank,
            kl_coef=kl_coef,
            num_gpus=0,
            gpus=gpus,
        ),
        conversation=ConversationConfig(
            max_turns=1, max_prompt_tokens=512, max_response_tokens=16, early_stop_reward=0.5
        ),
        judge=JudgeConfig(executor="emulator", workers=1),
    )


async def steps_of(settings: FrameworkConfig, folder: Path) -> list[dict[str, float]]:
    """What each step of a training reported."""
    seen: dict[int, dict[str, float]] = {}
    await MultiAgentVERLTrainer(
        settings,
        MultiTurnConversationManager(settings.conversation),
        CUDAPerformanceReward(settings.reward),
        run_dir=RunFolder.create(folder, "run", settings.model_dump_json()).path,
        model_path=write_kernel_words_model(folder / "model", TASK),
        tasks=[TASK],
        on_step=seen.__setitem__,
    ).train()
    assert list(seen) == [1, 2, 3]
    return list(seen.values())


@pytest.mark.slow
@pytest.mark.parametrize(("actor", "rollout"), [(2, 1), (1, 2)])
async def test_new_adapters_reach_every_server_of_its_own(actor: int, rollout: int, tmp_path: Path) -> None:
    steps = await steps_of(config(GPUAllocation(actor=actor, rollout=rollout)), tmp_path)
    assert all(step["turns_used"] > 0 for step in steps[:2]), "weights change before another is sampled"
    assert all(step["logprob_gap"] < SAME_WEIGHTS for step in steps)


@pytest.mark.slow
async def test_a_reference_with_a_card_of_its_own_stays_the_start_model(tmp_path: Path) -> None:
    gpus = GPUAllocation(actor=1, reference=1, rollout=1)
    steps = await steps_of(config(gpus, lora_rank=0, kl_coef=0.01), tmp_path)
    distances = [step["reference_kl"] for step in steps]
    assert distances[0] == pytest.approx(0, abs=SAME_WEIGHTS)
    assert distances[-1] > SAME_WEIGHTS
    assert all(step["logprob_gap"] < SAME_WEIGHTS for step in steps), "all weights reach the server too"


@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (1, 2), (2, 1), (4, 2), (3, 5), (2, 7)])
def test_every_server_has_one_sender(workers: int, servers: int) -> None:
    sent = [number for worker in range(workers) for number in servers_of(worker, workers, servers)]
    assert sorted(sent) == list(range(servers))


def test_the_cards_of_the_rollout_come_behind_those_that_ray_hands_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert rollout_cards(GPUAllocation(actor=4, reference=1, rollout=2, judge=1)) == ["5", "6"]
    assert rollout_cards(GPUAllocation(actor=4)) == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,3,5")
    assert rollout_cards(GPUAllocation(actor=1, rollout=2)) == ["3", "5"]


class Engine:
    """Keeps what a sender of verl's would hand on."""

    def __init__(self) -> None:
        self.got: dict[str, Any] = {}

    async def update_weights(self, weights: Any, *, global_steps: int) -> None:
        from verl.workers.rollout.utils import ensure_async_iterator

        assert global_steps == 7
        self.got = {name: tensor async for name, tensor in ensure_async_iterator(weights)}


@pytest.mark.parametrize("engines", [0, 1, 2])
async def test_all_weights_are_gathered_and_reach_each_engine_in_its_number_format(engines: int) -> None:
    import torch

    from coding_framework.training.rl.vllm_sender import send_apart

    gathered: list[str] = []

    def weights() -> Iterator[tuple[str, torch.Tensor]]:
        for name in ("a.lora_A", "a.lora_B", "embedding"):
            gathered.append(name)
            yield name, torch.full((2,), float(len(gathered)))

    there = [Engine() for _ in range(engines)]
    await send_apart(weights(), there, torch.bfloat16, {"global_steps": 7})
    assert gathered == ["a.lora_A", "a.lora_B", "embedding"]
    for engine in there:
        assert list(engine.got) == gathered
        assert torch.equal(engine.got["embedding"], torch.full((2,), 3.0, dtype=torch.bfloat16))
