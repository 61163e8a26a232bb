"""A checkpoint as two FSDP2 workers write it: each process of gloo saves the rows that it holds."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

WORKERS = 2
LORA_RANK, LORA_ALPHA = 4, 8


def write_sharded_checkpoint(start: Path, actor: Path, *, lora: bool) -> dict[str, Any]:
    """Write `actor` in two shards; the whole state, from one process, comes back."""
    import torch
    import torch.multiprocessing as processes

    actor.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    model = _model(start, lora)
    if lora:
        (actor / "lora_train_meta.json").write_text(json.dumps({"r": LORA_RANK, "lora_alpha": LORA_ALPHA}))
    processes.spawn(_worker, args=(address, start, actor, lora), nprocs=WORKERS)
    state: dict[str, torch.Tensor] = model.state_dict()
    return state


def _model(start: Path, lora: bool) -> Any:
    """The start model, every weight that is trained changed by amounts that bfloat16 would lose."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
    if lora:
        model = get_peft_model(
            model, LoraConfig(r=LORA_RANK, lora_alpha=LORA_ALPHA, target_modules="all-linear")
        )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 1e-4)
    return model


def _worker(rank: int, address: str, start: Path, actor: Path, lora: bool) -> None:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=WORKERS)
    model = _model(start, lora)
    fully_shard(model, mesh=init_device_mesh("cpu", (WORKERS,), mesh_dim_names=("fsdp",)))
    torch.save(model.state_dict(), actor / f"model_world_size_{WORKERS}_rank_{rank}.pt")
    dist.destroy_process_group()
