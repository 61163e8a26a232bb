"""One adapter for each agent, trained from its own pairs (`sft.adapters = per_agent`).

The agents learn one after the other, each as `run_sft` has it, in a folder of its own below `output_dir`;
`output_dir` itself then says who speaks with what, and is what a chat model is opened from. Guaranteed: an
agent never sees a pair of another; a run that was stopped goes on with the agent that it had come to, and
`on_start` is told of that place alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import structlog

from coding_framework.agents.models.agent_folder import is_agent_folder, read_agent_folder
from coding_framework.agents.specializer import AgentSpecializer
from coding_framework.config import SFTConfig
from coding_framework.errors import TrainingError, UserError
from coding_framework.records import AgentRole
from coding_framework.training.sft.export import merged_beside
from coding_framework.training.sft.results import PairLike, SFTResult, SFTStep
from coding_framework.training.sft.trainer import count_steps, run_sft

log = structlog.stdlib.get_logger(__name__)


class AgentPair(PairLike, Protocol):
    """A pair that knows whose answer it is."""

    @property
    def agent(self) -> AgentRole: ...


def planned_steps(pairs: Sequence[AgentPair], config: SFTConfig, model_path: Path) -> int:
    """Of all adapters together."""
    if config.adapters == "shared":
        return count_steps(pairs, config, model_path)
    return sum(count_steps(own, config, model_path) for own in _by_agent(pairs, config).values())


def model_of_agent(model_path: Path, role: AgentRole) -> Path:
    """The whole model that an agent speaks with after SFT: where its RL starts."""
    if not is_agent_folder(model_path):
        return model_path
    found = read_agent_folder(model_path)
    adapter = found.adapters.get(role)
    merged = found.models.get(role, found.model) if adapter is None else merged_beside(adapter)
    if not (merged / "config.json").is_file():
        raise TrainingError(f"{merged} is missing: RL of the {role} starts from its adapter merged")
    return merged


def run_sft_by_agent(
    pairs: Sequence[AgentPair],
    config: SFTConfig,
    model_path: Path,
    output_dir: Path,
    *,
    on_start: Callable[[int], object] = lambda _: None,
    on_step: Callable[[SFTStep], None] = lambda _: None,
    on_saved: Callable[[int], object] = lambda _: None,
    **options: Any,
) -> SFTResult:
    """As `run_sft`, whose other options it takes; steps are counted on from one agent to the next."""
    if config.adapters == "shared":
        told: dict[str, Any] = {"on_start": on_start, "on_step": on_step, "on_saved": on_saved}
        return run_sft(pairs, config, model_path, output_dir, **told, **options)
    results: dict[AgentRole, SFTResult] = {}
    shares = _by_agent(pairs, config)
    steps_of = {role: count_steps(own, config, model_path) for role, own in shares.items()}
    steps, before, last = sum(steps_of.values()), 0, list(shares)[-1]
    for role, own in shares.items():
        log.info("adapter_of_an_agent", agent=role, pairs=len(own))

        def started(step: int, role: AgentRole = role, before: int = before) -> None:
            if step < steps_of[role] or role == last:
                on_start(before + step)

        def stepped(step: SFTStep, before: int = before) -> None:
            on_step(step.model_copy(update={"step": before + step.step, "steps": steps}))

        def saved(step: int, before: int = before) -> None:
            on_saved(before + step)

        told = {"on_start": started, "on_step": stepped, "on_saved": saved}
        results[role] = run_sft(own, config, model_path, output_dir / role, **told, **options)
        before += steps_of[role]
    adapters = {role: result.adapter_dir for role, result in results.items() if result.adapter_dir}
    AgentSpecializer(adapters=adapters).write(output_dir, model_path)
    return SFTResult(
        adapter_dir=None,
        model_dir=output_dir,
        losses=tuple(loss for result in results.values() for loss in result.losses),
        pairs_used=sum(result.pairs_used for result in results.values()),
        pairs_too_long=sum(result.pairs_too_long for result in results.values()),
    )


def _by_agent(pairs: Sequence[AgentPair], config: SFTConfig) -> dict[AgentRole, list[AgentPair]]:
    own = {role: [pair for pair in pairs if pair.agent == role] for role in config.agents}
    empty = [role for role, some in own.items() if not some]
    if empty:
        raise UserError(
            f"there is no pair to train the adapter of {', '.join(empty)} from: ask for more pairs, or name "
            f"other agents in sft.agents"
        )
    return own
