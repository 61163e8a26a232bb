"""What a plan says of tasks that are not of the catalogue, what it refuses, and how workers find them."""

from __future__ import annotations

from pathlib import Path

import pytest
from archive_support import REAL_ROWS
from kernelbench_sources import SOURCES
from source_support import OWN, OWN_FOLDER, SAXPY, archive, checkout, function

from coding_framework.config import FrameworkConfig, load_config
from coding_framework.cuda.safety_wrapper import SafetyWrapper
from coding_framework.data.sources import overlap
from coding_framework.data.sources.run_tasks import with_kept_tasks
from coding_framework.data.tasks.split import training_tasks
from coding_framework.errors import ConfigError, NotAvailableError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.pipeline import start_run
from coding_framework.records import (
    Candidate,
    Evaluation,
    Generation,
    GenerationRequest,
    ModuleTask,
    Task,
    Verdict,
)
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.plan.refusals import RL_PACKAGES
from coding_framework.training.rl.episode_runner import EpisodeRunner
from coding_framework.training.rl.task_choice import TaskChoice
from coding_framework.training.rl.worker_settings import WorkerSettings

GB = 10**9
CARD = Card(name="a card", memory_bytes=80 * GB)


def machine(cards: int) -> Machine:
    return Machine(
        cores=16,
        memory_bytes=256 * GB,
        cards=(CARD,) * cards,
        no_cards_because="" if cards else "no driver",
        packages=frozenset({*RL_PACKAGES, "torch", "vllm"}),
    )


def config_of(*sources: str, **values: object) -> FrameworkConfig:
    return load_config(
        "one_gpu", values={"tasks.sources": sources, "tasks.held_out": ("scale",), "rl.steps": 3, **values}
    )


@pytest.fixture(autouse=True)
def _own_code_and_a_sandbox_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(OWN_FOLDER)
    monkeypatch.setattr(SafetyWrapper, "require", lambda self: None)


def test_modules_are_refused_without_a_gpu_with_their_number_and_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_yet(*_: object) -> None:
        raise AssertionError("nothing is run before it is refused")

    monkeypatch.setattr(overlap, "trace_modules", not_yet)
    sources = (str(checkout(tmp_path)), str(archive(tmp_path / "a.jsonl")))
    number = f"{len(SOURCES) + 1} of {len(SOURCES) + 2} tasks"
    words = rf"{number} .*contract extension and module.* no GPU \(no driver\)"
    with pytest.raises(NotAvailableError, match=words):
        make_plan(config_of(*sources, **{"rl.num_gpus": 0}), machine(0))
    with pytest.raises(ConfigError, match=r"judge\.executor is `emulator`: set it to `gpu`"):
        make_plan(config_of(*sources, **{"judge.executor": "emulator"}), machine(1))


def test_modules_are_refused_where_no_sandbox_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_works(self: SafetyWrapper) -> None:
        raise NotAvailableError("no sandbox for host code: bubblewrap: not installed")

    monkeypatch.setattr(SafetyWrapper, "require", none_works)
    with pytest.raises(NotAvailableError, match="and this machine has no sandbox for host code: bubblewrap"):
        make_plan(config_of("catalogue", str(archive(tmp_path / "a.jsonl"))), machine(1))


def test_sft_without_a_kernel_to_learn_from_is_refused() -> None:
    with pytest.raises(ConfigError, match="brings kernels to learn from"):
        make_plan(config_of(str(SAXPY)), machine(1))


def test_the_plan_counts_what_each_source_gave_and_names_what_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sines = {"sine": function("torch.sin(x)"), "scaled": function("4.0 * x")}
    sources = ("catalogue", str(checkout(tmp_path, sines)), str(archive(tmp_path / "a.jsonl")), OWN)
    plan = make_plan(config_of(*sources, **{"run.output_dir": str(tmp_path)}), machine(1))
    told = "\n".join(plan.tasks)
    assert "(contract kernel), 1 of" in told
    assert "(contract module), 1 of" in told
    assert "(contract extension), 2 of own_tasks:tasks (contract kernel)" in told
    assert "kernelbench_level1_2_scaled: it computes what scale computes, which is held out" in told
    phases = {phase.name: phase for phase in plan.phases}
    assert "kernelbench_level1_2_scaled" not in phases["rl"].tasks
    assert {"kernelbench_level1_1_sine", "sakana_level1_7_Scaled_ReLU", "mirror_rows"} <= set(
        phases["rl"].tasks
    )
    run = start_run(plan)
    with_kept_tasks(plan.config, run.path)
    again = make_plan(config_of(*sources), machine(1), RunFolder.open(run.path))
    assert [phase.tasks for phase in again.phases] == [phase.tasks for phase in plan.phases]
    assert not [words for words in again.tasks if "changed" in words]


async def test_workers_resolve_the_names_of_a_step_to_the_very_same_tasks_and_play_them(
    tmp_path: Path,
) -> None:
    """KernelBench's forms and, where they are, the rows of the archive: batch, contract, prompt, episode."""
    sources = [
        str(checkout(tmp_path)),
        str(REAL_ROWS if REAL_ROWS.exists() else archive(tmp_path / "a.jsonl")),
    ]
    config = config_of(*sources, **{"tasks.held_out": ("kernelbench_level1_1_scaled_relu",)})
    before = {task.name: task for task in training_tasks(config.tasks)}
    config = with_kept_tasks(config, RunFolder.create(tmp_path, "run", "{}").path)
    settings = settings_of(config)
    rows = TaskChoice.from_settings(settings).next_rows(config.rl.prompts_per_step)
    assert len(rows) == config.rl.prompts_per_step
    assert {str(row["task"]) for row in rows} <= set(before)

    judged: dict[str, Candidate] = {}

    async def judge(task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        assert task == before[task.name]
        judged[task.name] = candidate
        return Evaluation(
            task=task.name, candidate=candidate, verdict=Verdict.COMPILE_ERROR, message="expected a `;`"
        )

    runner = EpisodeRunner(WorkerSettings.model_validate_json(settings.model_dump_json()), judge)
    for number, name in enumerate(before):
        played = await runner.run(name, answer_in_the_contract_asked_for, step=1, episode=f"step1n{number}-0")
        assert played is not None
        assert [turn.agent for turn in played.turns] == ["generator", "optimizer"]
        assert "Expected a `;`" in played.turns[1].messages[-1].content
        assert judged[name].contract == ("extension" if name.startswith("sakana") else "module")


async def answer_in_the_contract_asked_for(request: GenerationRequest) -> Generation:
    """Another one each turn: a candidate that repeats an earlier one is not judged again."""
    is_module = "class ModelNew" in request.messages[0].content
    code = (
        "import torch\nclass ModelNew(torch.nn.Module):\n    pass"
        if is_module
        else "#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"
    )
    remark = f"{'#' if is_module else '//'} for the {request.agent}"
    text = f"```{'python' if is_module else 'cuda'}\n{remark}\n{code}\n```"
    return Generation(text=text, prompt_token_ids=(1, 2), token_ids=(3, 4), log_probs=(-0.5, -0.25))


def settings_of(config: FrameworkConfig) -> WorkerSettings:
    assert config.tasks.kept is not None
    settings = WorkerSettings(
        run_dir=config.tasks.kept.parent,
        conversation=config.conversation.model_copy(update={"max_turns": 2}),
        reward=config.reward,
        judge=config.judge,
        known_tasks=config.tasks,
        tasks=tuple(task.name for task in training_tasks(config.tasks)),
        curriculum=config.curriculum,
    )
    settings.write()
    return settings
