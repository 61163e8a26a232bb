"""The process that trains: `python -m coding_framework.training.rl.verl_run KEY=VALUE…`.

It does what verl's own entry does, for which that one starts a second process that imports everything
again: a third of a start. And it gives vLLM its head start: Ray and vLLM's process begin before
anything of verl is imported here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coding_framework.errors import TrainingError
from coding_framework.training.rl.environment import passed_on
from coding_framework.training.rl.names import QUEUE_NAMESPACE
from coding_framework.training.rl.process_watch import watched
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.supervisor import end_with_parent
from coding_framework.training.rl.vllm_server import start_early
from coding_framework.training.rl.worker_settings import WorkerSettings

_OLD_QUEUE_S = 30.0
"""In which the queue of a training that was ended just now goes."""


def main(overrides: Sequence[str]) -> None:
    """Compose verl's configuration, start Ray, train."""
    import ray
    from omegaconf import OmegaConf

    config = compose(overrides)
    settings: Any = OmegaConf.to_container(config.ray_kwargs.ray_init, resolve=True)
    if settings["address"] != "local":
        settings["runtime_env"] = {"env_vars": passed_on()}
    ray.init(**settings)
    start_early(config)
    _train(config)


def compose(overrides: Sequence[str]) -> Any:
    """verl's configuration with these overrides; raises where it does not know a key."""
    from hydra import compose, initialize_config_dir

    spec = find_spec("verl")
    if spec is None or spec.origin is None:
        raise TrainingError("verl is not installed")
    folder = Path(spec.origin).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", overrides=list(overrides))


def check(config: Any) -> None:
    """What verl refuses. It asks vLLM whether it has the rank of an adapter; vLLM says so itself."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    without_rank = OmegaConf.merge(config, {"actor_rollout_ref": {"model": {"lora_rank": 0}}})
    validate_config(without_rank, need_reference_policy(config), need_critic(config))


def _train(config: Any) -> None:
    import transfer_queue as tq  # type: ignore[import-untyped]
    from omegaconf import OmegaConf
    from verl.trainer.ppo.v1 import AgentLoopManagerTQ, get_trainer_cls
    from verl.utils.logging_utils import configure_verl_logging

    configure_verl_logging()
    check(config)
    trainer_class = get_trainer_cls(config.trainer.v1.trainer_mode)
    config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    mark_stage("processes")
    _require_a_queue_of_our_own()
    tq.init(config.transfer_queue)
    try:
        trainer = trainer_class(config=config)
        trainer.init()
        episodes = AgentLoopManagerTQ.create(
            config=config,
            llm_client=trainer.get_llm_client(),
            teacher_client=trainer.get_teacher_client(),
            reward_loop_worker_handles=trainer.get_reward_handles(),
        )
        with watched(WorkerSettings.from_environment().lost_file):
            trainer.fit(episodes)
        trainer.logger.finish(exit_code=0)
    finally:
        tq.close()


def _require_a_queue_of_our_own() -> None:
    """The queue of rows has one name on a cluster: two trainings would take each other's rows from it."""
    import ray

    deadline = time.monotonic() + _OLD_QUEUE_S
    while any(one["namespace"] == QUEUE_NAMESPACE for one in ray.util.list_named_actors(all_namespaces=True)):
        if time.monotonic() > deadline:
            raise TrainingError(
                "another training runs on this Ray cluster, and their rows would mix: wait until it has ended"
            )
        time.sleep(1)


if __name__ == "__main__":
    end_with_parent()
    main(sys.argv[1:])
