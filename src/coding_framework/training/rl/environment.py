"""The environment of the processes that verl and Ray start."""

from __future__ import annotations

import os
from pathlib import Path

from coding_framework.agents.models.loading import BRIEF_SPIN, prepare_cpu_arithmetic
from coding_framework.agents.models.store import cache_folder
from coding_framework.config import FrameworkConfig
from coding_framework.records.cores import usable_cores
from coding_framework.training.rl.names import COMMON_PLUGINS, CPU_PLUGINS, WORKER_SETTINGS_ENV
from coding_framework.training.rl.paths import RLPaths

PASSED_ON_ENV = "CODING_FRAMEWORK_RL_PASSED_ON"
"""Names of the variables that workers of a running cluster have to be told: they inherit nothing of ours."""


def passed_on() -> dict[str, str]:
    """In the trainer's process: those variables."""
    return {name: os.environ[name] for name in os.environ[PASSED_ON_ENV].split(",")}


def build_environment(config: FrameworkConfig, paths: RLPaths, worker_settings: Path) -> dict[str, str]:
    """The environment of verl's processes; Ray hands it on to all of its workers."""
    on_cpu = not config.rl.num_gpus
    package_root = Path(__file__).resolve().parents[3]
    inherited = os.environ.get("PYTHONPATH", "")
    added = {
        "VERL_USE_EXTERNAL_MODULES": ",".join((*CPU_PLUGINS, *COMMON_PLUGINS) if on_cpu else COMMON_PLUGINS),
        "VERL_USE_EXTERNAL_PLUGINS": "none",
        "VERL_FILE_LOGGER_PATH": str(paths.step_metrics),
        WORKER_SETTINGS_ENV: str(worker_settings),
        "PYTHONPATH": os.pathsep.join(part for part in (str(package_root), inherited) if part),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFER_QUEUE_ENABLE": "1",
        "NCCL_DEBUG": "WARN",
        "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "INFO"),
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        "RAY_DEDUP_LOGS": "0",
        "HYDRA_FULL_ERROR": "1",
    }
    if not on_cpu:
        added["VLLM_CACHE_ROOT"] = os.environ.get("VLLM_CACHE_ROOT", str(cache_folder() / "vllm"))
    if on_cpu:
        added |= {"VERL_PLATFORM": "cpu", **_cpu_threads(config.rl.gpus.actor or 1)}
    added[PASSED_ON_ENV] = ",".join(sorted(added))
    # An empty list of devices makes Ray refuse the logical GPU slots.
    hidden = {"CUDA_VISIBLE_DEVICES"} if on_cpu else set()
    return {name: value for name, value in os.environ.items() if name not in hidden} | added


def _cpu_threads(workers: int) -> dict[str, str]:
    """The workers share the cores; sampling and updating alternate. Waiting threads spin briefly."""
    prepare_cpu_arithmetic()
    threads = str(max(1, usable_cores() // workers))
    return {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads), "GOMP_SPINCOUNT": BRIEF_SPIN}
