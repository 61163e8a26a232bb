"""What RL needs of this machine, asked before anything is started."""

from __future__ import annotations

from importlib.util import find_spec

from coding_framework.config import RLConfig
from coding_framework.errors import MissingExtraError, NotAvailableError

NO_TURN_FOR_THE_OPTIMIZER = (
    "rl.adapters=per_agent trains an optimizer that would never speak, since conversation.max_turns is 1: "
    "set conversation.max_turns=2 or more, or rl.adapters=shared"
)
_PACKAGES = ("verl", "ray", "transfer_queue", "tensordict", "pyarrow", "transformers", "peft")


def require_what_rl_needs(rl: RLConfig) -> None:
    """Raises where a package or a GPU is missing."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError(package, "verl")
    if rl.num_gpus:
        _require_gpus(rl.num_gpus)
    if rl.rollout == "vllm" and find_spec("vllm") is None:
        raise NotAvailableError(
            "rl.rollout is `vllm`, which is not installed: run  pip install vllm  , or set "
            "rl.rollout=transformers (slow on a GPU)"
        )


def _require_gpus(num_gpus: int) -> None:
    import torch

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found < num_gpus:
        raise NotAvailableError(
            f"rl.num_gpus is {num_gpus}, but torch sees {found} CUDA device(s): set rl.num_gpus to 0 to "
            f"train on the CPU"
        )
