"""What RL needs of this machine, asked before anything is started."""

from __future__ import annotations

from importlib.util import find_spec

from coding_framework.errors import MissingExtraError, NotAvailableError
from coding_framework.training.rl.names import ROLLOUT_NAME

_PACKAGES = ("verl", "ray", "transfer_queue", "tensordict", "pyarrow", "transformers", "peft")


def choose_rollout(num_gpus: int) -> str:
    """The rollout to use: vLLM where there is a GPU and vLLM, else the transformers server."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError(package, "verl")
    if num_gpus == 0:
        return ROLLOUT_NAME
    _require_gpus(num_gpus)
    return "vllm" if find_spec("vllm") is not None else ROLLOUT_NAME


def _require_gpus(num_gpus: int) -> None:
    import torch

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found < num_gpus:
        raise NotAvailableError(
            f"rl.num_gpus is {num_gpus}, but torch sees {found} CUDA device(s): set rl.num_gpus to 0 to "
            f"train on the CPU"
        )
