"""The whole story: model → judged pairs → SFT → RL → held-out evaluation → report.

Guarantees: every finished phase is remembered in the run folder, so `--resume` starts where it
stopped, within a phase at its last checkpoint; Ctrl-C ends a phase at its next safe point. It holds
no logic of its own: each phase is one call into the package that does it.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Literal

import structlog
from pydantic import Field

from coding_framework.agents.models.loading import keep_to_cpu, release_memory
from coding_framework.agents.models.own_model import names_own_model
from coding_framework.agents.prompts import generator_messages, optimizer_messages
from coding_framework.config import FrameworkConfig
from coding_framework.cuda.pool import JudgePool, open_pool
from coding_framework.data.pair_records import SFTPair
from coding_framework.data.sources.book import find_task
from coding_framework.data.sources.keeping import FILE_NAME as KEPT_TASKS
from coding_framework.data.sources.run_tasks import with_kept_tasks
from coding_framework.data.tasks.split import evaluation_tasks
from coding_framework.errors import ConfigError, StorageError, TrainingInterrupted
from coding_framework.evaluation.evaluate import evaluate_into, head_of, label_of
from coding_framework.evaluation.subjects import Suite, catalogue_suite, folder_suite
from coding_framework.monitoring.evaluation_folder import EvaluationFolder
from coding_framework.monitoring.figure_records import EvaluationReport, ModelFigures
from coding_framework.monitoring.figures import figures_in
from coding_framework.monitoring.progress import progress_bar
from coding_framework.monitoring.report import write_report
from coding_framework.monitoring.rewind import rewind
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPhase, MetricPoint
from coding_framework.monitoring.sinks.feed import SinkFeed
from coding_framework.monitoring.storage import append_line, storage_errors, sync_below, write_whole
from coding_framework.monitoring.system import SystemSampler
from coding_framework.records import Conversation, Evaluation, Message, ModuleTask, Record, Task
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.records import TrainingPlan
from coding_framework.training.plan.refusals import evaluation_refusals, raise_first
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.plan.tasks import module_refusals
from coding_framework.training.reward_functions.own_reward import reward_of
from coding_framework.training.reward_functions.trial import checked_reward
from coding_framework.training.rl.by_agent import GENERATOR_PHASE, OPTIMIZER_PHASE
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

log = structlog.stdlib.get_logger(__name__)

ModelLabel = Literal["base", "sft", "rl"]


class TrainingOutcome(Record):
    """What a training left behind."""

    run: Path
    """The run folder."""
    report: Path
    """Its report."""
    evaluation: EvaluationReport
    """The before/after table."""
    phase_seconds: dict[str, float]
    """Wall-clock time of each phase."""
    sinks_failed: dict[str, str] = Field(default_factory=dict)
    """Sinks that were switched off, and why; `metrics.jsonl` has their numbers."""


class PhaseDone(Record):
    """A phase that ended with a path."""

    path: Path
    """What it made."""
    count: int
    """How many pairs, or steps."""
    asked: int | None = None
    """How many steps the settings asked for: a run is extended by asking for more."""
    epochs: float | None = None
    """The same in passes over the pairs, where the settings said so."""


class _StepCounter:
    """How far a bar must move to show a step; a resumed phase does not begin at the first."""

    def __init__(self) -> None:
        self._shown = 0

    def __call__(self, step: int) -> int:
        moved, self._shown = step - self._shown, step
        return moved


class Pipeline:
    """One training run in one folder."""

    def __init__(self, plan: TrainingPlan, run: RunFolder) -> None:
        if plan.config.tasks.kept is None:  # what an earlier start kept was of other settings
            (run.path / KEPT_TASKS).unlink(missing_ok=True)
        self.config = with_kept_tasks(plan.config, run.path)
        self.run = run
        self._stop_requested = False
        self._feed: SinkFeed | None = None
        self._sampler: SystemSampler | None = None

    async def train(self) -> TrainingOutcome:
        """Every phase that is enabled and not done yet."""
        if not self.config.rl.num_gpus:
            keep_to_cpu()
        sampling = SystemSampler(self.config.monitoring.sample_every_s)
        with self.run.training_lock(), self._stopping_on_ctrl_c(), sampling as self._sampler:
            feed = self._feed = SinkFeed(self.run, self.config.monitoring)
            try:
                evaluation = await self._all_phases(feed)
            except TrainingInterrupted:
                feed.close()
                write_report(self.run)
                raise
            except Exception:
                with suppress(StorageError):  # what went wrong first is told
                    feed.close()
                raise
            failed = feed.close()
            report = write_report(self.run)
        seconds = {p.name: p.seconds for p in self.run.state().phases if p.seconds is not None}
        return TrainingOutcome(
            run=self.run.path,
            report=report,
            evaluation=evaluation,
            phase_seconds=seconds,
            sinks_failed=dict(failed),
        )

    async def _all_phases(self, feed: SinkFeed) -> EvaluationReport:
        base = self._fetch_model()
        self._stop_if_asked()
        start = self._sft(base) if self.config.sft.enabled else base
        feed.settle("sft")
        self._stop_if_asked()
        trained = await self._rl(start) if self.config.rl.enabled else None
        feed.settle("rl")
        self._stop_if_asked()
        stages = self._stages(base, start, trained)
        return await self._evaluate(stages)

    def _fetch_model(self) -> Path:
        start = time.monotonic()
        path = fetch(self.config.model.name)
        if self.run.state().phase("model") is None:
            self.run.mark_done("model", PhaseDone(path=path, count=1), seconds=time.monotonic() - start)
        return path

    def _pairs(self) -> Path:
        """Pairs, each judged before it is used: so many in all, or so many of each family."""
        done = self.run.phase_result("pairs", PhaseDone)
        if done is not None:
            return done.path
        start = time.monotonic()
        result = self._make_pairs()
        self.run.mark_done("pairs", result, seconds=time.monotonic() - start)
        return result.path

    def _make_pairs(self) -> PhaseDone:
        from coding_framework.data.pairs.dataset import Outcome, make_dataset

        with progress_bar("judging pairs", self.config.sft.pairs) as bar:
            kept = 0

            def on_settled(outcome: Outcome) -> None:
                nonlocal kept
                kept += isinstance(outcome, SFTPair)
                bar.advance(int(isinstance(outcome, SFTPair)), kept=kept)
                self._stop_if_asked()

            path, made = make_dataset(
                self.config, self.run.path / "sft", generator_messages, _optimizer_prompt, on_settled
            )
        log.info("pairs_judged", kept=len(made.pairs), rejected=made.rejected, short=made.short)
        return PhaseDone(path=path, count=len(made.pairs))

    def _sft(self, base: Path) -> Path:
        from coding_framework.data.pair_files import read_pairs
        from coding_framework.training.sft.by_agent import planned_steps, run_sft_by_agent
        from coding_framework.training.sft.results import SFTStep

        pairs_path = self._pairs()
        self._stop_if_asked()
        pairs = read_pairs(pairs_path)
        asked = planned_steps(pairs, self.config.sft, base)
        done = self.run.phase_result("sft", PhaseDone)
        if done is not None and asked <= (done.asked or done.count):
            return done.path
        if done is not None:
            self._extend_sft()
        start = time.monotonic()
        reached = _StepCounter()
        self._forget_readings()
        with progress_bar("SFT", asked) as bar:

            def on_step(step: SFTStep) -> None:
                values = {
                    "loss": step.loss,
                    "learning_rate": step.learning_rate,
                    "tokens_per_s": step.tokens / max(step.seconds, 1e-9),
                }
                self._metric("sft", step.step, values, start)
                bar.advance(reached(step.step), loss=step.loss)

            result = run_sft_by_agent(
                pairs,
                self.config.sft,
                base,
                self.run.path / "sft",
                attention=self.config.model.attention,
                seed=self.config.run.seed,
                on_start=lambda step: rewind(self.run, "sft", step),
                on_step=on_step,
                on_saved=lambda step: self._settle("sft", step),
                should_stop=lambda: self._stop_requested,
                resume=True,
            )
        self.run.mark_done(
            "sft",
            PhaseDone(
                path=result.model_dir, count=len(result.losses), asked=asked, epochs=self.config.sft.epochs
            ),
            seconds=time.monotonic() - start,
        )
        release_memory()
        return result.model_dir

    def _extend_sft(self) -> None:
        """More steps after the end: what was built on the old end is to be done again."""
        log.info("sft_is_extended", done_again="RL and its evaluation, from the new model")
        self.run.forget_phases(
            "rl", GENERATOR_PHASE, OPTIMIZER_PHASE, "evaluation_sft", "evaluation_rl", "evaluation"
        )
        shutil.rmtree(self.run.checkpoints / "rl", ignore_errors=True)
        rewind(self.run, "rl", 0)

    async def _rl(self, start_model: Path) -> Path:
        done = self.run.phase_result("rl", PhaseDone)
        if done is not None and self.config.rl.all_steps <= done.count:
            return done.path
        if done is not None:
            self.run.forget_phases("evaluation_rl", "evaluation")
        start = time.monotonic()
        reward = reward_of(self.config.reward)
        reached = _StepCounter()
        self._forget_readings()
        with progress_bar("GRPO (verl)", self.config.rl.all_steps) as bar:

            def on_step(step: int, values: dict[str, float]) -> None:
                self._metric("rl", step, values, start)
                shown = {name: values[name] for name in ("reward_mean", "pass_rate") if name in values}
                bar.advance(reached(step), **shown)

            trainer = MultiAgentVERLTrainer(
                self.config,
                MultiTurnConversationManager(self.config.conversation, reward_function=reward),
                reward,
                run_dir=self.run.path,
                model_path=start_model,
                on_step=on_step,
                on_saved=lambda step: self._settle("rl", step),
                should_stop=lambda: self._stop_requested,
                resume=True,
            )
            result = await trainer.train()
        with storage_errors(result.model_path):
            sync_below(result.model_path)
        # With a policy for each agent they were timed one by one.
        seconds = time.monotonic() - start if self.config.rl.adapters == "shared" else None
        self.run.mark_done("rl", PhaseDone(path=result.model_path, count=result.steps), seconds=seconds)
        return result.model_path

    def _stages(self, base: Path, start: Path, trained: Path | None) -> list[tuple[ModelLabel, Path]]:
        stages: list[tuple[ModelLabel, Path]] = [("base", base)]
        if self.config.sft.enabled:
            stages.append(("sft", start))
        if trained is not None:
            stages.append(("rl", trained))
        return stages

    async def _evaluate(self, stages: Sequence[tuple[ModelLabel, Path]]) -> EvaluationReport:
        suite = catalogue_suite(self.config)
        with open_pool(self.config.judge) as pool:
            models = [await self._evaluate_one(label, path, suite, pool) for label, path in stages]
        report = EvaluationReport(models=tuple(models))
        samples = sum(group.samples for model in models for group in model.groups if group.tier is None)
        self.run.mark_done("evaluation", PhaseDone(path=self.run.evaluations, count=samples))
        return report

    async def _evaluate_one(
        self, label: ModelLabel, path: Path, suite: Suite, pool: JudgePool
    ) -> ModelFigures:
        """A model that has become another since is evaluated anew; one that has not goes on, or is done."""
        self._stop_if_asked()
        start = time.monotonic()
        folder = EvaluationFolder(self.run.evaluations / label)
        head = head_of(self.config, label, path, suite)

        def keep(conversation: Conversation) -> None:
            self.run.append_conversation(conversation)

        was_done = folder.exists and not folder.head_differs(head) and folder.is_complete(head)
        if not was_done:
            await evaluate_into(
                folder,
                head,
                suite,
                self.config,
                pool,
                conversations=self.run.conversations_file,
                on_conversation=keep,
                on_stored=self._stop_if_asked,
                start_anew=True,
            )
            done = PhaseDone(path=folder.path, count=len(head.tasks) * head.samples_per_task)
            self.run.mark_done(f"evaluation_{label}", done, seconds=time.monotonic() - start)
        return figures_in(folder)

    def _forget_readings(self) -> None:
        """Of the machine, so far: the next are those of a phase that begins."""
        if self._sampler is not None:
            self._sampler.take()

    def _metric(self, phase: MetricPhase, step: int, values: dict[str, float], started_s: float) -> None:
        elapsed_s = time.monotonic() - started_s
        now = datetime.now(UTC)
        system = self._sampler.take() if self._sampler is not None else {}
        point = MetricPoint(
            phase=phase, step=step, values=system | values, elapsed_s=elapsed_s, recorded_at=now
        )
        self.run.append_metric(point)

    def _settle(self, phase: MetricPhase, step: int) -> None:
        """A checkpoint holds this step: its numbers stay, and the sinks may have them."""
        if self._feed is not None:
            self._feed.settle(phase, step)

    def _stop_if_asked(self) -> None:
        if self._stop_requested:
            raise TrainingInterrupted("stopped as asked")

    @contextmanager
    def _stopping_on_ctrl_c(self) -> Iterator[None]:
        """The first Ctrl-C asks for a clean stop; a second one ends at once."""

        def request_stop(number: int, frame: FrameType | None) -> None:
            self._stop_requested = True
            log.warning("stopping", hint="finishing the current step; press Ctrl-C again to end at once")
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = signal.signal(signal.SIGINT, request_stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _optimizer_prompt(task: Task | ModuleTask, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    return optimizer_messages(task, evaluation, None)


async def evaluate_once(
    config: FrameworkConfig,
    folder: Path,
    *,
    suite: Path | None = None,
    skip_broken: bool = False,
    ks: Sequence[int] = (),
) -> ModelFigures:
    """One model outside a training, on the config's tasks or a folder's problems; goes on in `folder`."""
    checked_reward(config.reward)
    own, machine = _own_model(config), look_at_machine()
    config = resolve(config, machine)
    tasks = [find_task(config.tasks, name) for name in evaluation_tasks(config)] if suite is None else []
    raise_first([*evaluation_refusals(config, machine), *module_refusals(config, machine, tasks)])
    if not config.rl.num_gpus:
        keep_to_cpu()
    where = EvaluationFolder(folder)
    with open_pool(config.judge) as pool:
        asked = (
            catalogue_suite(config)
            if suite is None
            else folder_suite(suite, config.judge, pool, skip_broken=skip_broken)
        )
        path = own or fetch(config.model.name)
        head = head_of(config, label_of(path), path, asked)
        file = folder / "conversations.jsonl"

        def keep(conversation: Conversation) -> None:
            append_line(file, conversation.model_dump_json())

        with where.alone():
            await evaluate_into(where, head, asked, config, pool, conversations=file, on_conversation=keep)
    return figures_in(where, ks)


def _own_model(config: FrameworkConfig) -> Path | None:
    """The name of a model of one's own in place of a folder; nothing of it is fetched or loaded by us."""
    if not names_own_model(config.model.name):
        return None
    given = [name for name in ("dtype", "attention") if getattr(config.model, name) != "auto"]
    given += ["evaluation.engine"] if config.evaluation.engine != "auto" else []
    if given:
        raise ConfigError(
            f"model.name {config.model.name} is a model of your own, which {' and '.join(given)} would not "
            "reach: leave them out"
        )
    return Path(config.model.name)


def fetch(name: str) -> Path:
    """The model's folder, fetched first if need be, with a log line for each stage."""
    from coding_framework.agents.models.store import FetchProgress, fetch_model

    stages: set[str] = set()

    def say(progress: FetchProgress) -> None:
        if progress.stage not in stages:
            stages.add(progress.stage)
            log.info("model", name=name, stage=progress.stage)

    return fetch_model(name, say)


def start_run(plan: TrainingPlan) -> RunFolder:
    """The folder of a plan, with its settled config and the plan in it; an old one when it is resumed."""
    config = plan.config.model_dump_json(indent=2)
    if plan.resumes:
        run = RunFolder.open(plan.folder)
        write_whole(run.path / "config.json", config)
    else:
        run = RunFolder.create(plan.folder.parent, plan.folder.name, config)
    kept = plan.model_copy(update={"folder": run.path})
    write_whole(run.path / "plan.json", kept.model_dump_json(indent=2))
    return run
