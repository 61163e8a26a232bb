"""A process of its own: verl's engine and ours on the same rows; what came of it is printed as JSON."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

PROMPT, OTHER = tuple(range(10, 30)), (*range(10, 22), 40, 41)
ROWS = [
    (PROMPT, (50, 51, 52, 2)),
    (PROMPT, (53, 2)),
    (OTHER, (54, 55, 56, 57, 58, 2)),
    ((*PROMPT, 60), (61,)),
    (PROMPT, (62, 63, 64, 65, 66, 67, 68)),
]
"""Three of one prompt, and two that begin as they do."""


def main(model: str, lora_rank: int, checkpointing: bool, most_tokens: int) -> None:
    os.environ |= {"VERL_PLATFORM": "cpu", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    for name in ("without_trl", "cpu_platform", "packed_rows"):  # as verl's workers do
        import_module(f"coding_framework.training.rl.{name}")
    import torch

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

    from coding_framework.training.packed_attention import ATTENTION_NAME
    from coding_framework.training.rl.cpu_engine import SharingEngine

    settings = (model, lora_rank, checkpointing, most_tokens)
    theirs = _numbers(FSDPEngineWithLMHead, "sdpa", *settings)
    ours = _numbers(SharingEngine, ATTENTION_NAME, *settings)
    sys.stdout.write(json.dumps({"theirs": theirs, "ours": ours}) + "\n")


def _numbers(kind: Any, attention: str, model: str, rank: int, again: bool, most: int) -> dict[str, Any]:
    import torch
    from verl.workers.utils.padding import no_padding_2_padding

    engine = _engine(kind, attention, model, rank, again)
    passes = 0

    def loss(model_output: Any, data: Any, dp_group: Any = None) -> tuple[Any, dict[str, Any]]:
        nonlocal passes
        passes += 1
        found = no_padding_2_padding(model_output["log_probs"], data)
        weights = torch.sin(torch.arange(found.shape[1]) + 1.0)  # another one for each place
        return (found * weights).sum(), {}

    with engine.train_mode():
        engine.optimizer_zero_grad()
        engine.forward_backward_batch(_batch(most), loss)
        learned = [p for p in engine.module.parameters() if p.grad is not None]
        gradients = [float((p.grad.full_tensor() * _direction(p)).sum()) for p in learned]
    with engine.eval_mode():
        told = engine.forward_backward_batch(_batch(most), None, forward_only=True)["model_output"]
    values = {name: no_padding_2_padding(told[name], _batch(most)).tolist() for name in sorted(told)}
    return {"passes": passes, "gradients": gradients, **values}


def _direction(parameter: Any) -> Any:
    import torch

    return torch.cos(torch.arange(parameter.numel())).reshape(parameter.shape)


def _engine(kind: Any, attention: str, model: str, rank: int, again: bool) -> Any:
    import torch
    from verl.trainer.config import CheckpointConfig
    from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig

    model_config = HFModelConfig(
        path=model,
        use_remove_padding=False,
        override_config={"attn_implementation": attention},
        enable_gradient_checkpointing=again,
        lora_rank=rank,
        lora_alpha=8,
        target_modules="all-linear",
    )
    formats = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    engine_config = FSDPEngineConfig(
        strategy="fsdp2", model_dtype="fp32", dtype="float32", mixed_precision=formats, seed=1,
        full_determinism=True, use_torch_compile=False,
    )  # fmt: skip
    engine = kind(model_config, engine_config, FSDPOptimizerConfig(lr=1e-3), CheckpointConfig())
    engine.initialize()
    torch.manual_seed(5)
    for name, parameter in engine.module.named_parameters():
        if "lora_B" in name:  # zero at the start, which would hide the gradients of the other half
            torch.nn.init.normal_(parameter.to_local(), std=0.1)
    return engine


def _batch(most: int) -> Any:
    import torch
    from verl.utils import tensordict_utils as tu

    def nested(rows: list[Any]) -> Any:
        return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)

    columns = {
        "input_ids": nested([prompt + answer for prompt, answer in ROWS]),
        "position_ids": nested([range(len(prompt + answer)) for prompt, answer in ROWS]),
        "prompts": nested([prompt for prompt, _ in ROWS]),
        "responses": nested([answer for _, answer in ROWS]),
        "loss_mask": nested([[1.0] * len(answer) for _, answer in ROWS]),
    }
    settings = {
        "temperature": 0.7, "max_token_len_per_gpu": most, "use_dynamic_bsz": True, "pad_token_id": 0,
        "calculate_entropy": True, "use_remove_padding": False, "use_fused_kernels": False,
    }  # fmt: skip
    return tu.get_tensordict(columns, non_tensor_dict=settings)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "again", int(sys.argv[4]))
