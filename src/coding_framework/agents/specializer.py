"""`AgentSpecializer`: what makes each agent its own: prompt, adapter and reward.

    specialist = AgentSpecializer(adapters={"optimizer": Path("adapters/optimizer")})
    model = specialist.chat_model("smollm2")
    messages = specialist.optimizer.messages(task, last=evaluation)

One base model serves every agent; an agent without an adapter of its own speaks with the base model's
voice. The reward is held as settings: the functions that score with them lie above this package.
Guarantees: adapters that are not there are refused at once, not when they are first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from coding_framework.agents.models.agent_folder import AgentFolder
from coding_framework.agents.models.chat_model import ChatModel, SamplingSettings
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.agents.prompts import generator_messages, optimizer_messages, tester_messages
from coding_framework.agents.strategies import StrategyOutcome
from coding_framework.config import RewardConfig, RewardWeights
from coding_framework.errors import ConfigError, ModelNotFoundError
from coding_framework.records import AgentRole, Candidate, Evaluation, Message, ModuleTask, Record, Task

__all__ = ["AGENT_ROLES", "AGENT_WEIGHTS", "AgentSpecializer", "Specialist"]

AGENT_ROLES: tuple[AgentRole, ...] = ("generator", "optimizer", "tester")
AGENT_WEIGHTS: dict[AgentRole, RewardWeights] = {
    "generator": RewardWeights(
        compilation=0.30, correctness=0.45, performance=0.10, efficiency=0.10, quality=0.05
    ),
    "optimizer": RewardWeights(
        compilation=0.10, correctness=0.25, performance=0.50, efficiency=0.10, quality=0.05
    ),
}
"""The generator is there to be right, the optimizer to be fast."""


class Specialist(Record):
    """One agent."""

    role: AgentRole
    """Which."""
    adapter: Path | None = None
    """Folder of its LoRA adapter; None: the base model as it is."""
    reward: RewardConfig
    """How its answers are scored: the weights are this agent's own."""

    def messages(
        self,
        task: Task | ModuleTask,
        *,
        last: Evaluation | None = None,
        best: Evaluation | None = None,
        tried: Sequence[StrategyOutcome] = (),
        candidate: Candidate | None = None,
    ) -> tuple[Message, ...]:
        """Its prompt. The optimizer needs `last`, the tester a `candidate`."""
        if self.role == "generator":
            return generator_messages(task)
        if self.role == "optimizer":
            if last is None:
                raise ConfigError("the optimizer is asked about an evaluation: give `last`")
            return optimizer_messages(task, last, best, tried)
        if candidate is None:
            raise ConfigError("the tester is asked about a kernel: give `candidate`")
        return tester_messages(task, candidate)


class AgentSpecializer:
    """All agents of a conversation, each with what is its own."""

    def __init__(
        self,
        *,
        adapters: Mapping[AgentRole, Path] | None = None,
        reward: RewardConfig | None = None,
    ) -> None:
        """Without adapters every agent is the base model; `reward.agents` sets weights for single agents.

        Agents whose weights are not set there get those of `AGENT_WEIGHTS`, unless `reward.weights` was
        changed from its default: then these hold for them too.
        """
        adapters = adapters or {}
        for name in adapters:
            if name not in AGENT_ROLES:
                raise ConfigError(f"there is no agent called {name!r}: choose of {', '.join(AGENT_ROLES)}")
        for adapter in adapters.values():
            if not (adapter / "adapter_config.json").is_file():
                raise ModelNotFoundError(f"{adapter} holds no adapter (no adapter_config.json)")
        self.reward = _with_agent_weights(reward or RewardConfig())
        self._specialists = {
            role: Specialist(role=role, adapter=adapters.get(role), reward=_reward_of(role, self.reward))
            for role in AGENT_ROLES
        }

    def __getitem__(self, role: AgentRole) -> Specialist:
        return self._specialists[role]

    @property
    def generator(self) -> Specialist:
        return self._specialists["generator"]

    @property
    def optimizer(self) -> Specialist:
        return self._specialists["optimizer"]

    @property
    def tester(self) -> Specialist:
        return self._specialists["tester"]

    @property
    def adapters(self) -> dict[AgentRole, Path]:
        """Of the agents that have one."""
        return {role: one.adapter for role, one in self._specialists.items() if one.adapter is not None}

    def write(self, folder: Path, model: Path) -> None:
        """A folder that is a chat model itself: these agents on `model`; adapters stand below it."""
        below = {role: path.relative_to(folder) for role, path in self.adapters.items()}
        AgentFolder(model=model.resolve(), adapters=below).write(folder)

    def chat_model(self, spec: str, *, settings: SamplingSettings | None = None) -> ChatModel:
        """The model that answers for all of them, each with its adapter (see `open_chat_model`)."""
        return open_chat_model(spec, adapters=self.adapters, settings=settings)


def _with_agent_weights(reward: RewardConfig) -> RewardConfig:
    usual = AGENT_WEIGHTS if reward.is_built_in and reward.weights == RewardWeights() else {}
    return reward.model_copy(update={"agents": {**usual, **reward.agents}})


def _reward_of(role: AgentRole, reward: RewardConfig) -> RewardConfig:
    return reward.model_copy(update={"weights": reward.agents.get(role, reward.weights)})
