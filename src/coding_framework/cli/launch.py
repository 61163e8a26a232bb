"""`launch_complete_cuda_training.py`: training end to end, with flags for what is most often changed.

A thin door to `cuda-rl train`. Every other setting: `cuda-rl train --config configs/quick.toml --set
KEY=VALUE`. A flag that would have no effect is refused, and what is said of a setting names its flag.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from coding_framework.cli.failures import carried_out
from coding_framework.cli.train import carry_out, the_only_one
from coding_framework.config import FrameworkConfig, load_config
from coding_framework.config.tree import MOST_PASSES
from coding_framework.errors import ConfigError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.plan.changes import resume_config

FLAGS = {
    "num_gpus": "rl.num_gpus",
    "sft_examples": "sft.pairs",
    "sft_batch_size": "sft.batch_size",
    "sft_gradient_accumulation_steps": "sft.gradient_accumulation_steps",
}
SFT_FLAGS = ("sft_examples", "sft_batch_size", "sft_gradient_accumulation_steps")
RL_FLAGS = ("num_episodes", "rl_batch_size")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train end to end: SFT, then multi-turn RL under verl, then the held-out evaluation and "
        "a report. Every other setting: cuda-rl train --config FILE --set KEY=VALUE"
    )
    parser.add_argument(
        "--quick-test", action="store_true", help="the preset configs/quick.toml: minutes on two cores"
    )
    parser.add_argument("--config", action="append", help="another preset or TOML file")
    parser.add_argument(
        "--num-gpus",
        type=int,
        help="GPUs to train on; 0 trains on the CPU, 8 without --config takes configs/eight_gpus.toml",
    )
    parser.add_argument(
        "--sft-examples",
        type=int,
        help="judged pairs for SFT in all, short ones from the templates and the training tasks instead of "
        "so many of each family; SFT passes over them twice at most",
    )
    parser.add_argument("--sft-batch-size", type=int, help="pairs in one forward pass of SFT")
    parser.add_argument(
        "--sft-gradient-accumulation-steps", type=int, help="forward passes in one step of SFT"
    )
    parser.add_argument("--num-episodes", type=int, help="episodes of RL in all; rounded up to whole steps")
    parser.add_argument(
        "--rl-batch-size", type=int, help="episodes in one step of RL; a multiple of rl.group_size"
    )
    parser.add_argument("--skip-sft", action="store_true", help="start RL from the base model")
    parser.add_argument("--skip-rl", action="store_true", help="stop after SFT, and evaluate that")
    parser.add_argument(
        "--no-docker-sandbox",
        action="store_true",
        help="never use Docker; kernel candidates hold no host code, so nothing else changes for them",
    )
    parser.add_argument("--resume", type=Path, help="continue this run folder where it stopped")
    parser.add_argument("--plan", action="store_true", help="print what would be done, and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON record instead of tables")
    return parser.parse_args(arguments)


def resolve(options: argparse.Namespace) -> FrameworkConfig:
    """The config that the flags ask for; flags that contradict each other are refused."""
    _refuse_flags_without_effect(options)
    values: dict[str, Any] = {
        key: getattr(options, flag) for flag, key in FLAGS.items() if getattr(options, flag) is not None
    }
    values |= {"sft.enabled": False} if options.skip_sft else {}
    values |= {"rl.enabled": False} if options.skip_rl else {}
    preset = the_only_one(options.config) or _preset(options)
    config = load_config(preset, (), values)
    values |= _without_docker(config) if options.no_docker_sandbox else {}
    group_size = config.rl.group_size
    if options.rl_batch_size is not None:
        values["rl.prompts_per_step"] = _groups(options.rl_batch_size, group_size)
    if options.sft_examples is not None and _is_too_long(config):
        values["sft.epochs"] = MOST_PASSES
    if options.num_episodes is not None:
        if options.num_episodes < 1:
            raise ConfigError(f"--num-episodes is {options.num_episodes}: give 1 or more")
        per_step = load_config(preset, (), values).rl.prompts_per_step * group_size
        values["rl.steps"] = -(-options.num_episodes // per_step)
    return load_config(preset, (), values)


def _is_too_long(config: FrameworkConfig) -> bool:
    """Whether the preset's steps are more passes than the pairs that were asked for bear."""
    sft = config.sft
    return (sft.steps or 0) * sft.pairs_per_step > MOST_PASSES * (sft.pairs or 0)


def _preset(options: argparse.Namespace) -> str | None:
    if options.quick_test:
        return "quick"
    return "eight_gpus" if options.num_gpus == 8 else None


def _without_docker(config: FrameworkConfig) -> dict[str, Any]:
    if config.judge.sandbox == "docker":
        raise ConfigError("--no-docker-sandbox contradicts judge.sandbox=docker: leave one of them out")
    return {"judge.sandbox": "no_docker"} if config.judge.sandbox == "auto" else {}


def _groups(batch_size: int, group_size: int) -> int:
    if batch_size < 1 or batch_size % group_size:
        raise ConfigError(
            f"--rl-batch-size is {batch_size}, but a step plays whole groups of {group_size} episodes "
            f"(rl.group_size): give a multiple of {group_size}"
        )
    return batch_size // group_size


def _refuse_flags_without_effect(options: argparse.Namespace) -> None:
    """Each of them with the flag that takes its effect away."""
    given = [name for name, value in vars(options).items() if value is not None and value is not False]
    if options.quick_test and options.config:
        raise ConfigError("--quick-test and --config both name a preset: give one")
    for reason, idle in (
        ("resume", [name for name in given if name not in ("resume", "plan", "json")]),
        ("skip_sft", [name for name in SFT_FLAGS if name in given]),
        ("skip_rl", [name for name in RL_FLAGS if name in given]),
    ):
        if reason in given and idle:
            names = ", ".join(_flag(name) for name in idle)
            raise ConfigError(f"{names} would have no effect beside {_flag(reason)}: leave one of them out")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    return carried_out(lambda: _begin(options), lambda text: _with_flags(text, options))


def _with_flags(text: str, options: argparse.Namespace) -> str:
    """The same about the flags that were given, where it names the settings behind them."""
    for name, key in FLAGS.items():
        if getattr(options, name) is not None:
            text = re.sub(rf"\b{re.escape(key)}=(?=\S)", f"{_flag(name)} ", text)
            text = re.sub(rf"\b{re.escape(key)}\b", _flag(name), text)
    return text


def _begin(options: argparse.Namespace) -> None:
    if options.resume is None:
        carry_out(resolve(options), None, stop_after_plan=options.plan, json=options.json)
        return
    _refuse_flags_without_effect(options)
    run = RunFolder.open(options.resume)
    carry_out(resume_config(run), run, stop_after_plan=options.plan, json=options.json)
