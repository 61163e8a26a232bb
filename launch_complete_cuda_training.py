"""Train end to end: SFT, then multi-turn RL under verl, then the held-out evaluation and a report.

A thin door to `cuda-rl train` with flags for what is most often changed. Every other setting:
`cuda-rl train --config configs/quick.toml --set KEY=VALUE`. A flag that would have no effect is refused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from coding_framework.cli.train import carry_out
from coding_framework.config import FrameworkConfig, load_config
from coding_framework.errors import ConfigError, FrameworkError
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--quick-test", action="store_true", help="the preset configs/quick.toml: minutes on two cores"
    )
    parser.add_argument("--config", help="another preset or TOML file")
    parser.add_argument(
        "--num-gpus",
        type=int,
        help="GPUs to train on; 0 trains on the CPU, 8 without --config takes configs/eight_gpus.toml",
    )
    parser.add_argument("--sft-examples", type=int, help="judged pairs for SFT")
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
    preset = options.config or _preset(options)
    config = load_config(preset, (), values)
    values |= _without_docker(config) if options.no_docker_sandbox else {}
    group_size = config.rl.group_size
    if options.rl_batch_size is not None:
        values["rl.prompts_per_step"] = _groups(options.rl_batch_size, group_size)
    if options.num_episodes is not None:
        per_step = load_config(preset, (), values).rl.prompts_per_step * group_size
        values["rl.steps"] = -(-options.num_episodes // per_step)
    return load_config(preset, (), values)


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
    given = [name for name, value in vars(options).items() if value not in (None, False)]
    for reason, idle in (
        ("resume", [name for name in given if name not in ("resume", "plan", "json")]),
        ("skip_sft", [name for name in SFT_FLAGS if name in given]),
        ("skip_rl", [name for name in RL_FLAGS if name in given]),
        ("config", [name for name in ("quick_test",) if name in given]),
    ):
        if reason in given and idle:
            names = ", ".join(_flag(name) for name in idle)
            raise ConfigError(f"{names} would have no effect beside {_flag(reason)}: leave one of them out")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    try:
        _begin(options)
    except FrameworkError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _begin(options: argparse.Namespace) -> None:
    if options.resume is None:
        carry_out(resolve(options), None, stop_after_plan=options.plan, json=options.json)
        return
    _refuse_flags_without_effect(options)
    run = RunFolder.open(options.resume)
    carry_out(resume_config(run), run, stop_after_plan=options.plan, json=options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
