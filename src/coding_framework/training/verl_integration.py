"""`MultiAgentVERLTrainer`: reinforcement learning of the agents through verl.

    trainer = MultiAgentVERLTrainer(config, conversation_manager, reward_function)
    result = await trainer.train()

The conversation manager gives the shape of an episode, the reward function what it earns; both go to the
worker processes as settings, and the workers call the same episode driver as everything else. A reward of
one's own goes as its name, so it must have one: what workers could not make is refused at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from coding_framework.agents.models.own_model import NOT_TO_BE_TRAINED, names_own_model
from coding_framework.agents.specializer import AgentSpecializer
from coding_framework.config import FrameworkConfig, RewardConfig
from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.data.curriculum.ladder import trainable
from coding_framework.data.curriculum_manager import CurriculumManager
from coding_framework.data.sakana_loader import SakanaDataLoader
from coding_framework.data.sources.book import find_task
from coding_framework.data.sources.run_tasks import with_kept_tasks
from coding_framework.data.tasks.split import held_out_names, training_tasks
from coding_framework.errors import ConfigError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.orchestration.episode import RewardFn
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.resolve import judge_place, resolve
from coding_framework.training.reward_functions.naming import settings_of
from coding_framework.training.reward_functions.trial import behaviour, checked_reward
from coding_framework.training.rl.by_agent import run_rl_by_agent
from coding_framework.training.rl.launch import OnSaved, OnStep, RLJob, RLResult, ShouldStop
from coding_framework.training.rl.overlong import overlong_shaping
from coding_framework.training.rl.worker_settings import WorkerSettings

__all__ = [
    "AgentSpecializer",
    "CUDAPitfallDetector",
    "CUDASafetyAnalyzer",
    "CurriculumManager",
    "MultiAgentVERLTrainer",
    "RLResult",
    "SakanaDataLoader",
]


class MultiAgentVERLTrainer:
    """Trains generator and optimizer, every turn a sample of its own: one policy for both, or one each."""

    def __init__(
        self,
        config: FrameworkConfig,
        conversation_manager: MultiTurnConversationManager,
        reward_function: RewardFn,
        *,
        run_dir: Path | None = None,
        model_path: Path | None = None,
        tasks: Sequence[str] | None = None,
        on_step: OnStep | None = None,
        on_saved: OnSaved | None = None,
        should_stop: ShouldStop | None = None,
        resume: bool = False,
    ) -> None:
        """Checks everything that can be checked without spending time.

        Without `run_dir` a new run folder is made, without `model_path` the configured model is
        fetched, without `tasks` the configured training tasks are used. With `rl.adapters = per_agent`
        `run_dir` is a run folder, and `model_path` may name a model for each agent. `reward_function` is the
        built-in one or one of your own, whatever a module holds under a name (docs/rewards.md).
        """
        _require(config, FrameworkConfig, "config")
        _require(conversation_manager, MultiTurnConversationManager, "conversation_manager")
        if model_path is None and names_own_model(config.model.name):
            raise ConfigError(f"model.name {config.model.name} {NOT_TO_BE_TRAINED}")
        self._conversation = conversation_manager.settings
        self._reward = _named(reward_function, conversation_manager, config)
        if resume and run_dir is not None:
            _require_same_reward(self._reward, run_dir)
        # verl reads prompt and answer lengths from the config: they are the conversation's.
        config = config.model_copy(update={"conversation": self._conversation, "reward": self._reward})
        self.config = resolve(config, look_at_machine())
        self.tasks = tuple(tasks if tasks is not None else (t.name for t in training_tasks(config.tasks)))
        if not self.tasks:
            raise ConfigError("there is no task to train on")
        self._refuse_held_out()
        self._run_dir = run_dir
        self._model_path = model_path
        self._on_step = on_step
        self._on_saved = on_saved
        self._should_stop = should_stop
        self._resume = resume

    async def train(self) -> RLResult:
        """All steps, then the exported model."""
        run_dir = self._run_dir or self._new_run_dir()
        config = with_kept_tasks(self.config, run_dir.resolve(), self.tasks)
        settings = WorkerSettings(
            run_dir=run_dir.resolve(),
            conversation=self._conversation,
            reward=self._reward,
            reward_behaviour=behaviour(self._reward),
            judge=config.judge,
            known_tasks=config.tasks,
            rl=config.rl,
            overlong=overlong_shaping(config),
            judged_on=judge_place(config),
        )
        model = self._model_path
        if model is None:
            model = await asyncio.to_thread(_fetch, config.model.name)
        job = RLJob(config=config, settings=settings, model_path=model, tasks=self.tasks)
        return await run_rl_by_agent(
            job,
            on_step=self._on_step,
            on_saved=self._on_saved,
            should_stop=self._should_stop,
            resume=self._resume,
        )

    def _refuse_held_out(self) -> None:
        asked = [find_task(self.config.tasks, name) for name in self.tasks]
        found = trainable(asked, held_out_names(self.config.tasks))
        if held_out := set(self.tasks) - {task.name for task in found}:
            raise ConfigError(f"held out from training: {', '.join(sorted(held_out))}")

    def _new_run_dir(self) -> Path:
        folder = RunFolder.create(
            self.config.run.output_dir,
            None,
            self.config.model_dump_json(indent=2),
            label=self.config.run.name,
        )
        return folder.path


def _require(value: object, wanted: type, name: str) -> None:
    """Subclasses too: settings alone reach the worker processes, and what a subclass does would be lost."""
    if type(value) is not wanted:
        raise ConfigError(
            f"{name} must be a {wanted.__name__} itself, not {type(value).__name__}: worker processes are "
            f"given its settings alone and would not run what another class does"
        )


def _named(reward: RewardFn, manager: MultiTurnConversationManager, config: FrameworkConfig) -> RewardConfig:
    """The settings by which workers make `reward`; a second reward or a judge that they would not hear of is
    refused."""
    settings = settings_of(reward, config.reward)
    own = manager.reward_function
    if own is not None and own is not reward and settings_of(own, config.reward) != settings:
        raise ConfigError(
            "conversation_manager has another reward than reward_function: leave it out there, the episodes "
            "of a training earn reward_function"
        )
    if manager.judge is not None:
        raise ConfigError(
            "conversation_manager has a judge of its own, but worker processes judge as config.judge says: "
            "leave it out"
        )
    checked_reward(settings)
    return settings


def _require_same_reward(reward: RewardConfig, run_dir: Path) -> None:
    """A run that is resumed has to become what it would have become without the stop."""
    for file in sorted((run_dir / "rl").glob("**/worker.json")):
        written = json.loads(file.read_bytes())
        before = RewardConfig.model_validate(written["reward"])
        if before != reward:
            raise ConfigError(
                f"the reward cannot change in a run that has begun: {run_dir} began with {before.title} "
                f"({file} has all of it), now {reward.title} with other settings is given: start a new run"
            )
        if written.get("reward_behaviour") != behaviour(reward):
            raise ConfigError(
                f"the reward cannot change in a run that has begun: the code of reward.function "
                f"{reward.function} scores the recorded evaluations otherwise than when {run_dir} began. Put "
                "it back, or start a new run"
            )


def _fetch(name: str) -> Path:
    from coding_framework.agents.models.store import fetch_model

    return fetch_model(name)
