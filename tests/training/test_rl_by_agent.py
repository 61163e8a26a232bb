"""One policy after the other: what each is given, and what a stop or a longer run makes of it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from coding_framework.agents.models.agent_folder import AgentFolder, read_agent_folder
from coding_framework.config import ConversationConfig, FrameworkConfig, load_config
from coding_framework.errors import ConfigError, TrainingError, TrainingInterrupted
from coding_framework.monitoring.rewind import rewind
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import MetricPoint
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.records import Estimate
from coding_framework.training.rl import by_agent
from coding_framework.training.rl.checkpoints import latest_checkpoint
from coding_framework.training.rl.launch import RLJob, RLResult
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.worker_settings import WorkerSettings
from coding_framework.training.sft.by_agent import model_of_agent

STOP_AFTER = 99


@dataclass
class Trainer:
    """Stands where verl stands: leaves a checkpoint for each step, and says who took it from what."""

    run: RunFolder
    stop_after: int = STOP_AFTER
    took: list[tuple[str | None, int]] = field(default_factory=list)
    jobs: list[RLJob] = field(default_factory=list)
    generators: list[Path] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)

    async def run_rl(
        self, job: RLJob, *, on_step: Any, on_saved: Any, should_stop: Any, resume: bool
    ) -> RLResult:
        self.jobs.append(job)
        paths = RLPaths(self.run.path, job.model_path, Path("/nowhere"), job.settings.agent)
        if not resume:
            shutil.rmtree(paths.checkpoints, ignore_errors=True)
        latest = latest_checkpoint(paths.checkpoints)
        rewind(self.run, "rl", job.settings.steps_before + (latest[0] if latest else 0))
        for step in range((latest[0] if latest else 0) + 1, job.config.rl.steps + 1):
            if len(self.took) == self.stop_after:
                raise TrainingInterrupted("stopped")
            self.took.append((job.settings.agent, step))
            on_step(job.settings.steps_before + step, {"reward_mean": 0.0})
            (paths.checkpoints / f"global_step_{step}").mkdir(parents=True)
            (paths.checkpoints / "latest_checkpointed_iteration.txt").write_text(str(step))
            on_saved(job.settings.steps_before + step)
        paths.exported_model.mkdir(parents=True, exist_ok=True)
        (paths.exported_model / "config.json").write_text("{}")
        return RLResult(
            steps=job.config.rl.steps,
            model_path=paths.exported_model,
            metrics_path=job.settings.steps_file,
            last_checkpoint=paths.checkpoints,
        )

    async def play_openings(self, job: RLJob, generator: Path, should_stop: Any) -> list[Any]:
        self.generators.append(generator)
        job.settings.rl_dir.mkdir(parents=True, exist_ok=True)
        job.settings.openings_file.touch()
        return []


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "run", "{}")


async def train(
    run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    *,
    steps: int = 2,
    stop_after: int = STOP_AFTER,
    max_turns: int = 3,
    adapters: str = "per_agent",
) -> tuple[Trainer, RLResult | None]:
    trainer = Trainer(run, stop_after)
    monkeypatch.setattr(by_agent, "run_rl", trainer.run_rl)
    monkeypatch.setattr(by_agent, "play_openings", trainer.play_openings)
    config = FrameworkConfig.model_validate({"rl": {"steps": steps, "adapters": adapters}})
    conversation = ConversationConfig(max_turns=max_turns)
    settings = WorkerSettings(
        run_dir=run.path, conversation=conversation, reward=config.reward, judge=config.judge
    )
    job = RLJob(config=config, settings=settings, model_path=run.path, tasks=["vector_add"])

    def note(step: int, values: dict[str, float]) -> None:
        run.append_metric(MetricPoint(phase="rl", step=step, values=values, elapsed_s=1))

    try:
        return trainer, await by_agent.run_rl_by_agent(
            job, on_step=note, on_saved=trainer.saved.append, resume=True
        )
    except TrainingInterrupted:
        return trainer, None


def steps_of(run: RunFolder) -> list[int]:
    return [point.step for point in run.read_metrics()]


async def test_the_optimizer_goes_on_from_the_trained_generator(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, result = await train(run, monkeypatch)
    assert result is not None
    assert trainer.took == [("generator", 1), ("generator", 2), ("optimizer", 1), ("optimizer", 2)]
    assert [one.settings.conversation.max_turns for one in trainer.jobs] == [1, 3]
    assert trainer.generators == [run.models / "rl" / "generator"]
    assert steps_of(run) == trainer.saved == [1, 2, 3, 4]
    assert (result.steps, result.model_path) == (4, run.models / "rl")
    found = read_agent_folder(result.model_path)
    assert found.model == result.model_path / "generator"
    assert found.models == {"optimizer": result.model_path / "optimizer"}
    again, same = await train(run, monkeypatch)
    assert (again.jobs, same) == ([], result), "what is finished is not done again"


@pytest.mark.parametrize("stop_after", [0, 1, 2, 3])
async def test_a_stopped_run_goes_on_with_the_policy_that_it_had_come_to(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    first, stopped = await train(run, monkeypatch, stop_after=stop_after)
    second, result = await train(run, monkeypatch)
    assert stopped is None
    assert result is not None
    assert first.took + second.took == [
        ("generator", 1),
        ("generator", 2),
        ("optimizer", 1),
        ("optimizer", 2),
    ]
    assert steps_of(run) == [1, 2, 3, 4]


@pytest.mark.parametrize("stop_after", [STOP_AFTER, 1, 2, 3])
async def test_a_longer_run_trains_the_optimizer_anew_on_the_better_generator(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    await train(run, monkeypatch)
    first, _ = await train(run, monkeypatch, steps=3, stop_after=stop_after)
    second, result = await train(run, monkeypatch, steps=3)
    assert result is not None
    expected = [("generator", 3), ("optimizer", 1), ("optimizer", 2), ("optimizer", 3)]
    assert first.took + second.took == expected
    assert steps_of(run) == [1, 2, 3, 4, 5, 6]
    assert result.steps == 6


async def test_one_policy_for_all_is_trained_as_it_was(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, result = await train(run, monkeypatch, adapters="shared", max_turns=1)
    assert trainer.took == [(None, 1), (None, 2)]
    assert result is not None
    assert result.model_path == run.models / "rl"
    assert RLPaths(run.path, run.path, run.path).rl_dir == run.path / "rl"


async def test_an_optimizer_that_would_never_speak_is_refused(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"conversation\.max_turns=2"):
        await train(run, monkeypatch, max_turns=1)


def test_each_agent_starts_from_its_adapter_merged(tmp_path: Path) -> None:
    assert model_of_agent(tmp_path, "generator") == tmp_path
    for name in ("base", "optimizer/adapter", "optimizer/merged"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "base" / "config.json").write_text("{}")
    (tmp_path / "optimizer" / "adapter" / "adapter_config.json").write_text("{}")
    adapters = {"optimizer": Path("optimizer/adapter")}
    AgentFolder(model=tmp_path / "base", adapters=adapters).write(tmp_path)  # type: ignore[arg-type]
    assert model_of_agent(tmp_path, "generator") == tmp_path / "base"
    with pytest.raises(TrainingError, match="merged is missing"):
        model_of_agent(tmp_path, "optimizer")
    (tmp_path / "optimizer" / "merged" / "config.json").write_text("{}")
    assert model_of_agent(tmp_path, "optimizer") == tmp_path / "optimizer" / "merged"


PER_AGENT = ("rl.adapters=per_agent", "conversation.max_turns=3", "evaluation.max_turns=2", "rl.steps=7")


@pytest.mark.parametrize("sft", ["shared", "per_agent"])
def test_the_plan_shows_both_policies(sft: str) -> None:
    plan = make_plan(load_config("quick", [*PER_AGENT, f"sft.adapters={sft}"]), look_at_machine())
    shared = make_plan(load_config("quick", ["rl.steps=7"]), look_at_machine())
    generator, optimizer = (one for one in plan.phases if one.name.startswith("rl"))
    assert (generator.name, optimizer.name) == ("rl_generator", "rl_optimizer")
    assert (generator.steps, optimizer.steps) == (7, 7)
    assert generator.episodes == optimizer.episodes == plan.phases[-2].episodes
    assert isinstance(generator.seconds, Estimate)
    assert isinstance(optimizer.seconds, Estimate)
    assert optimizer.seconds.value > generator.seconds.value
    assert isinstance(plan.disk_bytes, Estimate)
    assert isinstance(shared.disk_bytes, Estimate)
    assert plan.disk_bytes.value > 1.2 * shared.disk_bytes.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("conversation.max_turns=1", r"would never speak.*set conversation\.max_turns=2"),
        ("evaluation.max_turns=1", r"no evaluation would hear.*set it to 2"),
    ],
)
def test_what_an_optimizer_cannot_do_without_is_refused(change: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_plan(load_config("quick", [*PER_AGENT, change]), look_at_machine())
