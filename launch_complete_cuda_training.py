"""Train end to end: SFT, then multi-turn RL under verl, then the held-out evaluation and a report.

A thin door to `cuda-rl train` with flags for what is most often changed. Every other setting:
`cuda-rl train --config configs/quick.toml --set KEY=VALUE`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from coding_framework.cli.train import run_training, show_outcome
from coding_framework.config import FrameworkConfig, load_config
from coding_framework.errors import FrameworkError

FLAGS = {
    "num_gpus": "rl.num_gpus",
    "sft_examples": "sft.pairs",
    "sft_batch_size": "sft.batch_size",
    "sft_gradient_accumulation_steps": "sft.gradient_accumulation_steps",
}


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--quick-test", action="store_true", help="the preset configs/quick.toml: minutes on two cores"
    )
    parser.add_argument("--config", help="another preset or TOML file")
    parser.add_argument("--num-gpus", type=int, help="GPUs to train on; 0 trains on the CPU")
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
    return parser.parse_args(arguments)


def resolve(options: argparse.Namespace) -> FrameworkConfig:
    """The config that the flags ask for; flags that contradict each other are refused."""
    values: dict[str, Any] = {
        key: getattr(options, flag) for flag, key in FLAGS.items() if getattr(options, flag) is not None
    }
    values |= {"sft.enabled": False} if options.skip_sft else {}
    values |= {"rl.enabled": False} if options.skip_rl else {}
    preset = options.config or ("quick" if options.quick_test else None)
    group_size = load_config(preset, (), values).rl.group_size
    if options.rl_batch_size is not None:
        values["rl.prompts_per_step"] = -(-options.rl_batch_size // group_size)
    if options.num_episodes is not None:
        per_step = load_config(preset, (), values).rl.prompts_per_step * group_size
        values["rl.steps"] = -(-options.num_episodes // per_step)
    return load_config(preset, (), values)


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    try:
        from coding_framework.pipeline import resume_run, start_run

        if options.resume:
            config, run = resume_run(options.resume)
        else:
            config = resolve(options)
            run = start_run(config)
        show_outcome(run_training(config, run))
    except FrameworkError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
