"""`cuda-rl bench train`: start and steps of RL on this machine, as `cuda-rl train` would run them.

Protocol: the RL phase of the config, from the command on, with everything real: rollouts, judgements,
update, sync. It is ended after the last measured step, so that nothing is exported. The first step is
shown and not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from coding_framework.config import FrameworkConfig
from coding_framework.errors import ConfigError
from coding_framework.evaluation.bench.footprint import gpu_bytes_in_use
from coding_framework.evaluation.bench.train_records import BenchTrainResult, RLStepFigures
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.resolve import judge_place
from coding_framework.training.reward_functions.own_reward import reward_of
from coding_framework.training.rl.start_stages import stage_seconds
from coding_framework.training.verl_integration import MultiAgentVERLTrainer


class _Measured(Exception):
    """The last step was measured: the run need not go on to its export."""


def bench_train(
    config: FrameworkConfig,
    machine: Machine,
    model_path: Path,
    *,
    steps: int,
    keep: Path | None = None,
    on_step: Callable[[RLStepFigures], None] = lambda _: None,
) -> BenchTrainResult:
    """Measure `steps` steps of a resolved config; with `keep` the run folder stays there."""
    if config.rl.adapters == "per_agent":
        raise ConfigError("the steps of one policy are measured: leave out rl.adapters=per_agent")
    rl = config.rl.model_copy(update={"steps": steps + 1, "save_every": steps + 1})
    config = config.model_copy(update={"rl": rl})
    seen: list[RLStepFigures] = []

    def note(step: int, values: dict[str, float]) -> None:
        seen.append(_figures(step, values))
        on_step(seen[-1])
        if len(seen) == steps:
            raise _Measured

    with TemporaryDirectory(prefix="cf-bench-") as folder:
        run_dir = keep or Path(folder)
        trainer = MultiAgentVERLTrainer(
            config,
            MultiTurnConversationManager(config.conversation),
            reward_of(config.reward),
            run_dir=run_dir,
            model_path=model_path,
            on_step=note,
        )
        with suppress(_Measured):
            asyncio.run(trainer.train())
        start = stage_seconds(run_dir / "rl")
    return _result(config, machine, model_path, start, seen)


def _result(
    config: FrameworkConfig,
    machine: Machine,
    model_path: Path,
    start: dict[str, float],
    seen: list[RLStepFigures],
) -> BenchTrainResult:
    rl, talk = config.rl, config.conversation
    return BenchTrainResult(
        device=", ".join(card.name for card in machine.cards) or f"{machine.cores} cores, no GPU",
        model=model_path.name,
        weights=f"LoRA rank {rl.lora_rank}" if rl.lora_rank else "all weights",
        prompts=rl.prompts_per_step,
        group_size=rl.group_size,
        max_prompt_tokens=talk.max_prompt_tokens,
        max_response_tokens=talk.max_response_tokens,
        max_turns=talk.max_turns,
        judged=f"{config.judge.executor}, {judge_place(config).replace('_', ' ')}",
        start=start,
        steps=tuple(seen),
    )


def _figures(step: int, values: dict[str, float]) -> RLStepFigures:
    return RLStepFigures(
        step=step,
        seconds=values["step_s"],
        sampling_s=values.get("sampling_s", 0.0),
        judging_s=values.get("judging_s", 0.0),
        update_s=values.get("update_s", 0.0),
        sync_s=values.get("weight_sync_s", 0.0),
        episodes=int(values["episodes"]),
        episodes_lost=int(values["episodes_lost"]),
        judgements=int(values.get("turns_sampled", 0)),
        new_tokens=int(values.get("new_tokens", 0)),
        update_tokens=int(values.get("update_tokens", 0)),
        logprob_gap=values.get("logprob_gap"),
        card_memory_bytes=gpu_bytes_in_use(),
        host_memory_bytes=_host_memory(),
    )


def _host_memory() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    known = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    return known["MemTotal"] - known["MemAvailable"]
