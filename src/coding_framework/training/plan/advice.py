"""What to change where memory does not suffice: what helps with the parts that take most of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from coding_framework.config import FrameworkConfig
from coding_framework.training.plan.memory import Holding

Phase = Literal["sft", "rl"]
_SMALLER_MODEL = "take a smaller model.name"
_FEW = 2


def advice(held: Holding, phase: Phase, config: FrameworkConfig, cards: int) -> str:
    """For the largest parts, largest first, on a machine with so many cards; a smaller model always helps."""
    parts = sorted(held.parts.items(), key=lambda part: -part[1])
    large = [name for name, size in parts if size > held.total / 8]
    of_phase = _of_sft(large, config) if phase == "sft" else _of_rl(large, config, cards)
    few = list(dict.fromkeys(of_phase))[:_FEW]
    if len(few) < _FEW or "frozen weights" in large:
        few.append(_SMALLER_MODEL)
    return ", or ".join(few)


def _of_sft(parts: list[str], config: FrameworkConfig) -> Iterator[str]:
    sft = config.sft
    for part in parts:
        if part == "trained weights":
            lower = f"lower sft.lora_rank (it is {sft.lora_rank})"
            yield "set sft.method=lora" if sft.method == "full" else lower
        elif part == "frozen weights" and sft.method == "lora" and config.rl.num_gpus:
            yield "set sft.method=qlora"
        elif part == "activations":
            yield from _smaller_rows_of_sft(config)


def _smaller_rows_of_sft(config: FrameworkConfig) -> Iterator[str]:
    sft = config.sft
    if sft.checkpoint_activations is False and config.model.attention != "sdpa":
        yield "leave out sft.checkpoint_activations=false"
    if sft.batch_tokens is not None and sft.batch_tokens > sft.max_length:
        yield f"lower sft.batch_tokens (it is {sft.batch_tokens:,})"
    elif sft.batch_tokens is None and sft.batch_size > 1:
        yield f"lower sft.batch_size (it is {sft.batch_size}) and raise sft.gradient_accumulation_steps"
    else:
        yield f"lower sft.max_length (it is {sft.max_length:,})"


def _of_rl(parts: list[str], config: FrameworkConfig, cards: int) -> Iterator[str]:
    rl = config.rl
    for part in parts:
        if part == "trained weights":
            lower = f"lower rl.lora_rank (it is {rl.lora_rank})"
            yield lower if rl.lora_rank else "set rl.lora_rank=16 to train an adapter"
        elif part == "critic":
            yield "set rl.algorithm=grpo, which has no critic"
        elif part == "reference":
            yield "set rl.lora_rank=16, whose reference takes no memory, or rl.kl_coef=0"
        elif part == "judge" and not rl.num_gpus:
            yield f"lower judge.workers (it is {config.judge.workers})"
        elif part == "judge":
            more = ", or give the judge a card with rl.gpus.judge" if cards > 1 else ""
            yield f"set judge.executor=emulator{more}"
        elif part in ("activations", "logits"):
            yield from _smaller_rows_of_rl(config)
        elif part == "vLLM" and cards > 1 and not rl.gpus.rollout:
            yield "give vLLM a card of its own with rl.gpus.rollout"


def _smaller_rows_of_rl(config: FrameworkConfig) -> Iterator[str]:
    rl, conversation = config.rl, config.conversation
    row = conversation.max_prompt_tokens + conversation.max_response_tokens
    if rl.checkpoint_activations is False:
        yield "leave out rl.checkpoint_activations=false"
    if (rl.update_tokens or 0) > row:
        yield f"lower rl.update_tokens (it is {rl.update_tokens:,}, and {row:,} suffice)"
    else:
        yield "allow shorter prompts and answers (conversation.max_prompt_tokens, max_response_tokens)"
