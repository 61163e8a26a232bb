"""Names that the launcher's side and the plug-ins' side of verl must agree on."""

from __future__ import annotations

ROLLOUT_NAME = "coding_framework_hf"
"""`actor_rollout_ref.rollout.name`: the transformers server."""
AGENT_NAME = "coding_framework_episode"
"""`agent_name` of every prompt."""
ADVANTAGE_NAME = "turn_grpo"
"""`algorithm.adv_estimator`."""
TRAINER_NAME = "coding_framework_turns"
"""`trainer.v1.trainer_mode`."""
GROUP_FIELD = "episode_group"
"""Field of a prompt: the name of the episodes that are started together with its own."""
GROUP_SIZE_FIELD = "episode_group_size"
"""Field of a prompt: how many they are."""
MOST_ROWS = 64
"""So many answers the transformers server samples at the same time."""
REPORT_FIELD = "episode_report"
"""Field of a row: the `EpisodeReport` of its episode, as JSON."""
WORKER_SETTINGS_ENV = "CODING_FRAMEWORK_RL_WORKER"
"""Path of the `WorkerSettings` file, for processes that Ray starts."""

_PACKAGE = "coding_framework.training.rl"
SAMPLER_MODULE, SAMPLER_CLASS = f"{_PACKAGE}.turn_sampler", "TurnSampler"
"""`trainer.v1.sampler.custom_sampler`: dynamic sampling."""
COMMON_PLUGINS = tuple(
    f"{_PACKAGE}.{name}"
    for name in (
        "without_trl",
        "packed_rows",
        "rollout_replica",
        "vllm_replica",
        "reference_engine",
        "logprob_gap",
        "critic_engine",
        "agent_loop",
        "turn_trainer",
    )
)
"""Modules that hide TRL and register our attention, rollout, critic, agent loop, advantage and trainer."""
CPU_PLUGINS = (f"{_PACKAGE}.cpu_platform", f"{_PACKAGE}.cpu_engine")
"""Modules that teach verl the CPU; the platform must come first."""


def prompt_name(step: int, place: int) -> str:
    """Of a prompt that is visited in a step: verl's `uid`, which must not hold an underscore."""
    return f"step{step}n{place}"


def place_of_prompt(name: str) -> int:
    """Its place within the step."""
    return int(name.rpartition("n")[2])


QUEUE_NAMESPACE = "transfer_queue"
"""Where Ray keeps verl's queue of rows: the same for all trainings on a cluster."""
