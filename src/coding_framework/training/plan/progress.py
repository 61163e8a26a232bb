"""What of a run is done, and what a change of its settings makes to be done again.

It follows the pipeline: SFT and RL go on when more of them is asked for, what was built on the old end is
done again, and a model that learnt on is evaluated again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from coding_framework.config import FrameworkConfig
from coding_framework.data.tasks.split import evaluation_tasks
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import RunState
from coding_framework.training.plan.refusals import Refusal


@dataclass(frozen=True)
class Progress:
    """Of a run; empty for one that is new."""

    finished: frozenset[str] = frozenset()
    """Phases, and `evaluation_MODEL` of each model, that stay as they are."""
    steps: dict[str, int] = field(default_factory=dict)
    """Of each phase that makes steps: those that are done and stay."""
    pairs: int | None = None
    """Judged pairs that are there."""


def progress_of(run: RunFolder | None, config: FrameworkConfig) -> Progress:
    """With the settings of `config`, which may ask for more than was made."""
    if run is None:
        return Progress()
    state = run.state()
    sft = _sft_is_done(state, config)
    steps = {"sft": _number(state, "sft", "count")} if config.sft.enabled else {}
    finished = {"model", "pairs"} | ({"sft"} if sft else set())
    if sft or not config.sft.enabled:
        rl, made = _rl(state, config)
        finished |= rl
        steps |= made
    finished |= set(_evaluations(state, config, finished))
    kept = frozenset(name for name in finished if name == "evaluation" or state.phase(name) is not None)
    return Progress(kept, steps, _number(state, "pairs", "count") or None)


def too_few_steps(run: RunFolder | None, config: FrameworkConfig) -> Iterator[Refusal]:
    """A run can be made longer; steps that were made cannot be taken back."""
    state = run.state() if run is not None else None
    if state is None:
        return
    sft, rl = config.sft, config.rl
    made, agents = _number(state, "sft", "count"), _adapters(config)
    if sft.enabled and sft.steps is not None and sft.steps * agents < made:
        yield _shorter("sft.steps", sft.steps, made // agents)
    policies = rl.all_steps // rl.steps
    made = max(_number(state, "rl", "count") // policies, _number(state, "rl_generator", "steps"))
    if rl.enabled and rl.steps < made:
        yield _shorter("rl.steps", rl.steps, made)


def _shorter(key: str, asked: int, made: int) -> Refusal:
    return Refusal(
        "settings",
        f"{key} is {asked}, but this run has made {made}: it can be extended, not shortened; leave it out or "
        "start a new run",
    )


def _sft_is_done(state: RunState, config: FrameworkConfig) -> bool:
    """As the pipeline has it; passes are compared with those that were asked for."""
    sft = config.sft
    if not sft.enabled or state.phase("sft") is None:
        return False
    asked = _number(state, "sft", "asked") or _number(state, "sft", "count")
    before = _fraction(state, "sft", "epochs")
    if sft.epochs is not None and before is not None:
        return sft.epochs <= before
    pairs = _number(state, "pairs", "count") // _adapters(config)
    return sft.num_steps(max(1, pairs)) * _adapters(config) <= asked


def _adapters(config: FrameworkConfig) -> int:
    """Of SFT, each of which makes the steps that are asked for."""
    return len(config.sft.agents) if config.sft.adapters == "per_agent" else 1


def _rl(state: RunState, config: FrameworkConfig) -> tuple[set[str], dict[str, int]]:
    """(what stays finished, steps that stay); with more steps the optimizer begins anew."""
    rl = config.rl
    if rl.adapters == "shared":
        made = _number(state, "rl", "count")
        return ({"rl"} if state.phase("rl") and rl.all_steps <= made else set()), {"rl": made}
    generator = _number(state, "rl_generator", "steps")
    optimizer = _number(state, "rl_optimizer", "steps")
    steps = {"rl_generator": generator, "rl_optimizer": optimizer if rl.steps <= generator else 0}
    finished = {name for name, made in steps.items() if rl.steps <= made}
    return (finished | {"rl"} if len(finished) == 2 and state.phase("rl") else finished), steps


def _evaluations(state: RunState, config: FrameworkConfig, finished: set[str]) -> Iterator[str]:
    """Of models that stay as they are; and the phase, when all of them are done."""
    wanted = ["base", *(name for name in ("sft", "rl") if getattr(config, name).enabled)]
    stays = [name for name in wanted if name == "base" or name in finished]
    samples = len(evaluation_tasks(config)) * config.evaluation.samples_per_task
    done = [
        f"evaluation_{name}" for name in stays if _number(state, f"evaluation_{name}", "count") == samples
    ]
    yield from done
    if len(done) == len(wanted):
        yield "evaluation"


def _number(state: RunState, phase: str, name: str) -> int:
    """Of what a phase left; 0 where it has not ended."""
    return math.floor(_fraction(state, phase, name) or 0)


def _fraction(state: RunState, phase: str, name: str) -> float | None:
    finished = state.phase(phase)
    result = finished.result if finished is not None else None
    value = result.get(name) if isinstance(result, dict) else None
    return float(value) if isinstance(value, int | float) else None
