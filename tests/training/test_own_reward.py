"""A reward of a user's own is run, or refused with the reason; it never fails in silence."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib import invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import own_rewards
import pytest

from coding_framework.config import (
    ConversationConfig,
    FrameworkConfig,
    JudgeConfig,
    RewardConfig,
    load_config,
)
from coding_framework.errors import ConfigError, OwnCodeError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import (
    Candidate,
    Evaluation,
    Generation,
    GenerationRequest,
    RewardComponents,
    Task,
    Verdict,
)
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.plan.changes import resume_config
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.reward_functions.naming import settings_of
from coding_framework.training.reward_functions.own_reward import reward_of
from coding_framework.training.reward_functions.trial import behaviour, checked_reward, recorded_evaluations
from coding_framework.training.rl.episode_runner import EpisodeFault, EpisodeRunner
from coding_framework.training.rl.worker_settings import WorkerSettings
from coding_framework.training.verl_integration import MultiAgentVERLTrainer
from tests_support import EvaluationFactory

MAKE = EvaluationFactory()
PASSED = MAKE.passed(1.5)
BUILT_IN = CUDAPerformanceReward()


def own(name: str, **settings: Any) -> RewardConfig:
    return RewardConfig(function=f"own_rewards:{name}", **settings)


def test_functions_classes_and_objects_are_called() -> None:
    earlier = [PASSED, PASSED]
    assert reward_of(own("half"))(PASSED, earlier).total == 0.5
    assert reward_of(own("quarter"))(PASSED, earlier).total == 0.25
    assert reward_of(own("Patience"))(PASSED, earlier).total == pytest.approx(0.2)
    assert reward_of(own("Patience", options={"a_turn": 0.3}))(PASSED, earlier).total == pytest.approx(0.6)
    assert reward_of(RewardConfig())(PASSED, earlier) == BUILT_IN(PASSED, earlier)


def test_a_subclass_of_the_built_in_reward_stays_one_for_each_agent() -> None:
    reward, failed = checked_reward(own("Twice")), MAKE.failed(Verdict.WRONG_RESULT)
    assert reward.for_agent("optimizer")(failed).total == pytest.approx(2 * BUILT_IN(failed).total)


def test_a_reward_may_differ_by_agent() -> None:
    reward = reward_of(own("Patience"))
    assert reward.for_agent("optimizer")(PASSED, [PASSED]).total == pytest.approx(0.1)
    assert reward.for_agent("tester")(PASSED, [PASSED]).total == 0.0


def test_the_recorded_evaluations_are_of_all_kinds() -> None:
    recorded = recorded_evaluations()
    assert [one.verdict for one in recorded[:3]] == ["no_candidate", "compile_error", "wrong_result"]
    speedups = [one.speedup for one in recorded[3:] if one.speedup]
    assert speedups[0] == 1.0
    assert speedups[1] > 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hlaf", "no attribute hlaf; close to it: half"),
        ("one_argument", r"takes \(evaluation.*but it is given \(evaluation, earlier\)"),
        ("Demanding", r"Demanding, a class, takes .* but it is given \(config\)"),
        ("Choosy", r"could not be built .*ValueError: set reward.options.limit \(own_rewards.py, line \d+\)"),
        ("CUDAPerformanceReward", "is the built-in reward"),
        ("random", "is a module, which cannot be called"),
        ("number", "gave a float instead of RewardComponents"),
        ("by_checks", r"raised ZeroDivisionError.*own_rewards.py, line \d+.* for row_sum \(no_candidate\)"),
        ("leaves", "raised SystemExit: 0"),
        ("not_a_number", "raised ValidationError"),
        ("dice", r"not a pure function.* and the second time .*by chance"),
        ("by_hash", "not a pure function.* and in another process"),
    ],
)
def test_what_cannot_be_a_reward_is_refused_before_anything_is_spent(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        checked_reward(own(name))


def test_a_reward_that_other_processes_cannot_import_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("only_here")
    module.half = own_rewards.half
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(
        ConfigError, match=r"works in this process, but not in another .* no module only_here"
    ):
        checked_reward(RewardConfig(function="only_here:half"))


def test_settings_that_nobody_would_read_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"nobody would read reward\.preset, reward\.target_speedup"):
        reward_of(own("half", preset="gated", target_speedup=3))
    with pytest.raises(ConfigError, match="options are for a reward of your own"):
        load_config(None, ["reward.options.limit=3"])
    with pytest.raises(ConfigError, match=r"own_rewards:half, which the built-in reward would not run"):
        CUDAPerformanceReward(own("half"))


def in_a_function() -> Any:
    class Local(own_rewards.Patience):
        pass

    return Local


class OfTheScript(own_rewards.Patience):
    __module__ = "__main__"


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        (lambda evaluation, earlier: own_rewards.earning(0.5), "a lambda has no name"),
        (in_a_function(), "made inside a function"),
        (in_a_function()(RewardConfig()), "made inside a function"),
        (OfTheScript, "in the script that was started"),
        (OfTheScript(RewardConfig()), "in the script that was started"),
        (own_rewards.Constant(RewardConfig(), 0.75), "value would not be what it is in this object"),
        (own_rewards.Slotted(RewardConfig(), 0.75), "value would not be what it is in this object"),
        (functools.partial(own_rewards.half), "a partial, which has no name"),
        (own_rewards.quarter.__call__, "a method, which has no name"),
        (BUILT_IN.for_agent("optimizer"), "that of the optimizer alone"),
        (3, "must be a reward, not a int"),
    ],
)
def test_an_object_that_workers_could_not_make_is_refused_with_the_reason(reward: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        settings_of(reward, RewardConfig())


@pytest.mark.parametrize(
    ("reward", "settings"),
    [
        (BUILT_IN, RewardConfig()),
        (own_rewards.half, own("half")),
        (own_rewards.Patience, own("Patience")),
        (own_rewards.quarter, own("quarter")),
        (own_rewards.Constant(RewardConfig()), own("Constant")),
        (own_rewards.Slotted(RewardConfig()), own("Slotted")),
        (own_rewards.Twice(RewardConfig(preset="gated")), own("Twice", preset="gated")),
        (reward_of(own("half")), own("half")),
        (
            own_rewards.Patience(own("Patience", options={"a_turn": 0.2})),
            own("Patience", options={"a_turn": 0.2}),
        ),
    ],
)
def test_an_object_that_can_be_named_becomes_settings_that_make_it_again(
    reward: Any, settings: RewardConfig
) -> None:
    assert settings_of(reward, RewardConfig()) == settings
    again = reward_of(settings)
    assert again(PASSED, [PASSED]) == reward_of(settings_of(again, RewardConfig()))(PASSED, [PASSED])


def trainer(reward: Any, config: FrameworkConfig | None = None, **options: Any) -> MultiAgentVERLTrainer:
    manager = options.pop("manager", MultiTurnConversationManager())
    return MultiAgentVERLTrainer(config or FrameworkConfig(), manager, reward, **options)


def test_what_is_passed_to_the_trainer_is_recorded_in_its_config() -> None:
    assert trainer(own_rewards.half).config.reward == own("half")


def test_rewards_and_judges_that_workers_would_not_hear_of_are_refused() -> None:
    other = MultiTurnConversationManager(reward_function=own_rewards.half)
    with pytest.raises(ConfigError, match="another reward than reward_function"):
        trainer(BUILT_IN, manager=other)
    with pytest.raises(ConfigError, match="a judge of its own"):
        trainer(BUILT_IN, manager=MultiTurnConversationManager(judge=judge))
    with pytest.raises(ConfigError, match="names own_rewards:half, but reward_function is weighted preset"):
        trainer(BUILT_IN, FrameworkConfig(reward=own("half")))


async def judge(task: Any, candidate: Candidate) -> Evaluation:
    return PASSED


def test_another_reward_is_refused_where_a_training_goes_on(worker: WorkerSettings) -> None:
    run = worker.run_dir
    with pytest.raises(ConfigError, match=r"began with own_rewards:stumbles_over_timeouts .*weighted preset"):
        trainer(BUILT_IN, run_dir=run, resume=True)
    assert (
        trainer(own_rewards.stumbles_over_timeouts, run_dir=run, resume=True).config.reward == worker.reward
    )


def test_changed_code_is_refused_where_a_training_goes_on(
    worker: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    written = Path(own_rewards.__file__).read_text()
    config = RewardConfig(function="changing_reward:half")
    for source, refused in ((written, False), (written.replace("earning(0.5)", "earning(0.625)"), True)):
        (tmp_path / "changing_reward.py").write_text(source)
        monkeypatch.delitem(sys.modules, "changing_reward", raising=False)
        invalidate_caches()
        if refused:
            with pytest.raises(ConfigError, match="scores the recorded evaluations otherwise than when"):
                trainer(reward_of(config), run_dir=worker.run_dir, resume=True)
        else:
            settings = {"reward": config, "reward_behaviour": behaviour(config)}
            worker.model_copy(update=settings).write()
            trainer(reward_of(config), run_dir=worker.run_dir, resume=True)
    monkeypatch.delitem(sys.modules, "changing_reward", raising=False)


def test_a_package_brings_a_reward_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "kernel_club-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kernel-club\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[coding_framework.rewards]\nclub = own_rewards:half\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert checked_reward(RewardConfig(function="club"))(PASSED).total == 0.5
    with pytest.raises(ConfigError, match="close to it: club"):
        checked_reward(RewardConfig(function="clubb"))


def test_the_run_keeps_its_reward_and_the_plan_names_a_bad_one(tmp_path: Path) -> None:
    config = load_config("quick", ["reward.function=own_rewards:half"])
    run = RunFolder.create(tmp_path, "run", make_plan(config, look_at_machine()).config.model_dump_json())
    assert resume_config(run).reward == own("half")
    (run.path / "sft").mkdir()
    with pytest.raises(ConfigError, match=r"reward\.function cannot change in a run that has begun"):
        resume_config(run, ["reward.function=own_rewards:quarter"])
    with pytest.raises(ConfigError, match="no attribute hlaf; close to it: half"):
        make_plan(load_config("quick", ["reward.function=own_rewards:hlaf"]), look_at_machine())


@pytest.fixture
def worker(tmp_path: Path) -> WorkerSettings:
    settings = WorkerSettings(
        run_dir=RunFolder.create(tmp_path, "run", "{}").path,
        conversation=ConversationConfig(max_turns=1),
        reward=own("stumbles_over_timeouts"),
        reward_behaviour=behaviour(own("stumbles_over_timeouts")),
        judge=JudgeConfig(executor="emulator"),
    )
    settings.write()
    return settings


async def test_a_reward_that_raises_ends_the_run_and_rewards_nothing(worker: WorkerSettings) -> None:
    async def judged(task: Task, candidate: Candidate) -> Evaluation:
        return MAKE.failed(Verdict.TIMEOUT)

    async def answer(request: GenerationRequest) -> Generation:
        return Generation(text='```cuda\nextern "C" __global__ void k(float* y) {}\n```')

    runner = EpisodeRunner(worker, judged)
    with pytest.raises(OwnCodeError, match="nothing was rewarded"), runner.fatal_faults("vector_add", 1):
        await runner.run("vector_add", answer, step=1, episode="step1n0-0")
    (fault,) = [
        EpisodeFault.model_validate_json(line) for line in worker.fault_file.read_bytes().splitlines()
    ]
    assert fault.fatal
    assert fault.task == "vector_add"
    for words in ("own_rewards:stumbles_over_timeouts", "LookupError: never seen this", "--resume"):
        assert words in fault.error
    assert list(RunFolder(worker.run_dir).read_conversations()) == []


async def test_a_worker_that_cannot_import_the_reward_ends_the_run(worker: WorkerSettings) -> None:
    lost = worker.model_copy(update={"reward": RewardConfig(function="gone_away:reward")})

    async def answer(request: GenerationRequest) -> Generation:
        raise AssertionError("nobody is asked")

    runner = EpisodeRunner(lost, judge)
    with pytest.raises(ConfigError), runner.fatal_faults("vector_add", 1):
        await runner.run("vector_add", answer, step=1, episode="step1n0-0")
    assert "there is no module gone_away" in worker.fault_file.read_text()


def test_workers_look_where_the_launcher_finds_modules(
    worker: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODING_FRAMEWORK_RL_WORKER", str(worker.rl_dir / "worker.json"))
    theirs = [entry for entry in sys.path if entry != str(Path(own_rewards.__file__).parent)]
    monkeypatch.setattr(sys, "path", list(theirs))
    WorkerSettings.from_environment()
    assert sys.path[: len(theirs)] == theirs, "nothing that is installed is hidden"
    assert str(Path(own_rewards.__file__).parent) in sys.path[len(theirs) :]


async def test_conversations_in_this_process_take_any_callable() -> None:
    def local(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> RewardComponents:
        return own_rewards.earning(0.875)

    async def answer(request: GenerationRequest) -> Generation:
        return Generation(text="no code")

    from coding_framework.data.tasks import get_task

    manager = MultiTurnConversationManager(judge=judge, reward_function=local)
    conversation = await manager.run_conversation(get_task("scale"), answer)
    assert {turn.reward.total for turn in conversation.turns} == {0.875}
