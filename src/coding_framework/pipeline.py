"""The whole story: model → judged pairs → SFT → RL → held-out evaluation → report.

Guarantees: every finished phase is remembered in the run folder, so `--resume` starts where it
stopped, within a phase at its last checkpoint; Ctrl-C ends a phase at its next safe point. It holds
no logic of its own: each phase is one call into the package that does it.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import structlog

from coding_framework.agents.models.chat_model import ChatModel
from coding_framework.agents.models.loading import release_memory, sampling_dtype
from coding_framework.agents.prompts import generator_messages, optimizer_messages
from coding_framework.config import FrameworkConfig
from coding_framework.cuda.pool import JudgePool, open_pool
from coding_framework.data.data_pipeline import CUDADataPipeline
from coding_framework.data.pair_records import SFTPair
from coding_framework.errors import TrainingInterrupted
from coding_framework.evaluation.held_out import evaluate_model
from coding_framework.monitoring.progress import progress_bar
from coding_framework.monitoring.report import write_report
from coding_framework.monitoring.results import EvaluationReport, ModelLabel, ModelResult
from coding_framework.monitoring.rewind import rewind, rewind_evaluation
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.monitoring.storage import write_whole
from coding_framework.records import Conversation, Evaluation, Message, Record, Task
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.records import TrainingPlan
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.by_agent import GENERATOR_PHASE, OPTIMIZER_PHASE
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

log = structlog.stdlib.get_logger(__name__)


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


class PhaseDone(Record):
    """A phase that ended with a path."""

    path: Path
    """What it made."""
    count: int
    """How many pairs, or steps."""
    asked: int | None = None
    """How many steps the settings asked for: a run is extended by asking for more."""


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
        self.config = plan.config
        self.run = run
        self._stop_requested = False

    async def train(self) -> TrainingOutcome:
        """Every phase that is enabled and not done yet."""
        with self.run.training_lock(), self._stopping_on_ctrl_c():
            try:
                base = self._fetch_model()
                self._stop_if_asked()
                start = self._sft(base) if self.config.sft.enabled else base
                self._stop_if_asked()
                trained = await self._rl(start) if self.config.rl.enabled else None
                self._stop_if_asked()
                stages = self._stages(base, start, trained)
                evaluation = await self._evaluate(stages)
            except TrainingInterrupted:
                write_report(self.run)
                raise
            report = write_report(self.run)
        seconds = {p.name: p.seconds for p in self.run.state().phases if p.seconds is not None}
        return TrainingOutcome(run=self.run.path, report=report, evaluation=evaluation, phase_seconds=seconds)

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
        asked = planned_steps(pairs, self.config.sft)
        done = self.run.phase_result("sft", PhaseDone)
        if done is not None and asked <= (done.asked or done.count):
            return done.path
        if done is not None:
            self._extend_sft()
        start = time.monotonic()
        reached = _StepCounter()
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
                should_stop=lambda: self._stop_requested,
                resume=True,
            )
        self.run.mark_done(
            "sft",
            PhaseDone(path=result.model_dir, count=len(result.losses), asked=asked),
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
        reward = CUDAPerformanceReward(self.config.reward)
        reached = _StepCounter()
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
                should_stop=lambda: self._stop_requested,
                resume=True,
            )
            result = await trainer.train()
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
        with open_pool(self.config.judge) as pool:
            results = [await self._evaluate_one(label, path, pool) for label, path in stages]
        report = EvaluationReport(models=tuple(results))
        self.run.mark_done("evaluation", report)
        return report

    async def _evaluate_one(self, label: ModelLabel, path: Path, pool: JudgePool) -> ModelResult:
        self._stop_if_asked()
        done = self.run.phase_result(f"evaluation_{label}", ModelResult)
        if done is not None:
            return done
        rewind_evaluation(self.run, label)

        def keep(conversation: Conversation) -> None:
            self.run.append_conversation(conversation)
            self._stop_if_asked()

        result = await _sample_and_count(self.config, label, path, pool, keep)
        release_memory()
        self.run.mark_done(f"evaluation_{label}", result, seconds=result.seconds)
        return result

    def _metric(self, phase: str, step: int, values: dict[str, float], started_s: float) -> None:
        elapsed_s = time.monotonic() - started_s
        point = {"phase": phase, "step": step, "values": values, "elapsed_s": elapsed_s}
        self.run.append_metric(MetricPoint.model_validate(point))

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


def _optimizer_prompt(task: Task, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    return optimizer_messages(task, evaluation, None)


def _model_to_evaluate(config: FrameworkConfig, path: Path) -> ChatModel:
    """A model in this process, sampling as the evaluation's settings say."""
    from coding_framework.agents.models.chat_model import SamplingSettings
    from coding_framework.agents.models.open_model import open_chat_model

    return open_chat_model(
        str(path),
        dtype=sampling_dtype(path, config.model.dtype),
        settings=SamplingSettings(
            temperature=config.evaluation.temperature,
            seed=config.run.seed,
            max_batch_size=config.evaluation.batch_size,
        ),
    )


async def evaluate_once(config: FrameworkConfig) -> ModelResult:
    """The held-out table of one model, outside a training."""
    config = resolve(config, look_at_machine())
    path = fetch(config.model.name)
    with open_pool(config.judge) as pool:
        return await _sample_and_count(config, "model", path, pool, on_conversation=lambda _: None)


async def _sample_and_count(
    config: FrameworkConfig,
    label: ModelLabel,
    path: Path,
    pool: JudgePool,
    on_conversation: Callable[[Conversation], None],
) -> ModelResult:
    data = CUDADataPipeline.from_config(config, by_curriculum=False)
    tasks = [example.task for example in data.prepare_evaluation_set()]
    total = len(tasks) * config.evaluation.samples_per_task
    with progress_bar(f"evaluating {label}", total) as bar:

        def report(conversation: Conversation) -> None:
            bar.advance()
            on_conversation(conversation)

        return await evaluate_model(
            _model_to_evaluate(config, path).generate,
            tasks,
            config,
            label=label,
            model_path=path,
            judge=pool.judge_async,
            reward=CUDAPerformanceReward(config.reward),
            on_conversation=report,
        )


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
