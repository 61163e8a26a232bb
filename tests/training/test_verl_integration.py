"""The trainer refuses what cannot work before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coding_framework.config import FrameworkConfig, ModelConfig, RLConfig
from coding_framework.data.tasks.split import training_tasks
from coding_framework.errors import ConfigError, NotAvailableError, TrainingError, UnknownTaskError
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.checkpoints import latest_checkpoint, prune_checkpoints
from coding_framework.training.rl.export import export_model
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

MANAGER, REWARD = MultiTurnConversationManager(), CUDAPerformanceReward()


@pytest.mark.parametrize(
    "arguments",
    [({}, MANAGER, REWARD), (FrameworkConfig(), None, REWARD), (FrameworkConfig(), MANAGER, 1)],
)
def test_a_wrong_argument_is_named(arguments: Any) -> None:
    with pytest.raises(ConfigError, match="must be a"):
        MultiAgentVERLTrainer(*arguments)


def test_a_subclass_of_the_manager_that_would_be_lost_on_the_way_is_refused() -> None:
    other = type("OtherManager", (MultiTurnConversationManager,), {})()
    with pytest.raises(ConfigError, match="itself, not OtherManager: worker processes"):
        MultiAgentVERLTrainer(FrameworkConfig(), other, REWARD)


def test_a_chat_model_of_ones_own_is_not_trained() -> None:
    config = FrameworkConfig(model=ModelConfig(name="kernel_club:model"))
    with pytest.raises(ConfigError, match=r"kernel_club:model .* must be weights that transformers loads"):
        MultiAgentVERLTrainer(config, MANAGER, REWARD)


def test_unknown_and_missing_tasks_are_refused() -> None:
    with pytest.raises(UnknownTaskError):
        MultiAgentVERLTrainer(FrameworkConfig(), MANAGER, REWARD, tasks=["vector_ad"])
    with pytest.raises(ConfigError, match="no task"):
        MultiAgentVERLTrainer(FrameworkConfig(), MANAGER, REWARD, tasks=[])


@pytest.mark.parametrize("name", ["scale", "prefix_sum"])
def test_a_task_that_is_held_out_is_refused_even_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"held out from training: {name}"):
        MultiAgentVERLTrainer(FrameworkConfig(), MANAGER, REWARD, tasks=["vector_add", name])


def test_the_configured_tasks_are_the_default() -> None:
    config = FrameworkConfig()
    assert MultiAgentVERLTrainer(config, MANAGER, REWARD).tasks == tuple(
        t.name for t in training_tasks(config.tasks)
    )


async def test_more_gpus_than_the_machine_has_is_said_at_once(tmp_path: Path) -> None:
    pytest.importorskip("verl")
    config = FrameworkConfig(rl=RLConfig(num_gpus=4096))
    trainer = MultiAgentVERLTrainer(config, MANAGER, REWARD, run_dir=tmp_path, model_path=tmp_path)
    with pytest.raises(NotAvailableError, match=r"rl\.num_gpus is 4096"):
        await trainer.train()


def test_the_last_finished_checkpoint_is_found(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path) is None
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("12\n")
    with pytest.raises(TrainingError, match="global_step_12 is missing"):
        latest_checkpoint(tmp_path)
    (tmp_path / "global_step_12").mkdir()
    assert latest_checkpoint(tmp_path) == (12, tmp_path / "global_step_12")


def test_only_the_newest_finished_checkpoints_are_kept(tmp_path: Path) -> None:
    prune_checkpoints(tmp_path, keep=2)
    for step in (1, 2, 9, 10, 11):
        (tmp_path / f"global_step_{step}").mkdir()
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("10")
    prune_checkpoints(tmp_path, keep=2)
    assert sorted(folder.name for folder in tmp_path.glob("global_step_*")) == [
        "global_step_10",
        "global_step_9",
    ]


def test_full_weights_are_exported_as_they_were_saved(tmp_path: Path) -> None:
    """Training without adapters stores every weight; the folder that comes out holds the same ones."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tiny_model import write_tiny_model

    start = write_tiny_model(tmp_path / "start")
    state = transformers.AutoModelForCausalLM.from_pretrained(start).state_dict()
    changed = {name: tensor + 1 for name, tensor in state.items()}
    (tmp_path / "step" / "actor").mkdir(parents=True)
    torch.save(changed, tmp_path / "step" / "actor" / "model_world_size_1_rank_0.pt")
    export_model(tmp_path / "step", start, tmp_path / "out")
    exported = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").state_dict()
    assert all(torch.equal(exported[name], tensor.float()) for name, tensor in changed.items())
