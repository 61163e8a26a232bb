"""Settings of SFT and of the compiler that could never work, found before a pair is judged."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.agents.prompts import generator_messages
from coding_framework.config import FrameworkConfig, SFTConfig
from coding_framework.config.tree import DEFAULT_SFT_STEPS
from coding_framework.cuda.toolchain.flags import check_flags
from coding_framework.cuda.toolchain.nvrtc import nvrtc_version, supported_architectures
from coding_framework.data.tasks.split import asked_tasks
from coding_framework.errors import ConfigError, ToolchainMissingError
from coding_framework.training.plan.refusals import Refusal, wrong

_MOST_CHARACTERS_OF_A_TOKEN = 5
"""On average over a prompt: tokenizers make one of three to four characters of English and CUDA."""


def sft_refusals(config: FrameworkConfig) -> Iterator[Refusal]:
    """Of a resolved config."""
    if config.sft.enabled:
        yield from _sizes(config.sft)
        yield from _rows(config)


def compiler_refusals(config: FrameworkConfig) -> Iterator[Refusal]:
    """Flags that are not allowed, and an architecture that the compiler does not know."""
    try:
        check_flags(config.judge.compile_flags)
        known = supported_architectures()
    except ConfigError as error:
        yield wrong(f"judge.compile_flags: {error}")
        return
    except ToolchainMissingError as error:
        yield Refusal("machine", str(error))
        return
    if config.judge.architecture not in known:
        yield wrong(
            f"judge.architecture is {config.judge.architecture}, which NVRTC {nvrtc_version()} cannot "
            f"compile for: it knows {', '.join(known)}"
        )


def _sizes(sft: SFTConfig) -> Iterator[Refusal]:
    if sft.pairs is not None and sft.pairs_per_step > sft.pairs:
        yield wrong(
            f"a step of SFT takes {sft.pairs_per_step:,} pairs (sft.batch_size × "
            f"sft.gradient_accumulation_steps), and sft.pairs is {sft.pairs:,}: lower the one or "
            "raise the other"
        )
    default = SFTConfig.model_fields["warmup_steps"].default
    if sft.epochs is None and sft.warmup_steps != default:
        steps = sft.num_steps(sft.pairs or DEFAULT_SFT_STEPS * sft.pairs_per_step)
        if sft.warmup_steps >= steps:
            yield wrong(
                f"sft.warmup_steps is {sft.warmup_steps:,} of {steps:,} steps: the learning rate would "
                "never come to its peak; lower it"
            )


def _rows(config: FrameworkConfig) -> Iterator[Refusal]:
    """Prompts alone may be longer than a pair may be."""
    prompts = (generator_messages(task) for task in asked_tasks(config.tasks))
    texts = [sum(len(message.content) for message in prompt) for prompt in prompts]
    shortest = min(texts, default=0) // _MOST_CHARACTERS_OF_A_TOKEN
    if config.sft.max_length < shortest:
        yield wrong(
            f"sft.max_length is {config.sft.max_length}, but even the shortest prompt of tasks.train has "
            f"more than {shortest} tokens: no pair would fit; the default is "
            f"{SFTConfig.model_fields['max_length'].default}"
        )
