"""`cuda-rl bench train`: how fast RL starts and steps on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.bench_progress import steps_shown
from coding_framework.cli.bench_sft import show as show_sft
from coding_framework.cli.options import ConfigOption, JsonOption, SetOption

if TYPE_CHECKING:
    from coding_framework.evaluation.bench.train_records import BenchTrainResult, RLStepFigures


_WARM_UP = 3
"""Steps of SFT that do not count."""


def train(
    model: Annotated[
        str | None, typer.Option("--model", help="Instead of the config's `model.name`.")
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=2, help="The first one does not count.")] = 4,
    sft_steps: Annotated[int, typer.Option("--sft-steps", min=1, help="Of SFT, if the config has it.")] = 10,
    keep: Annotated[Path | None, typer.Option("--keep", help="Folder that keeps the run's files.")] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """SFT (as `bench sft` has it) and RL: the start by its stages, a step by its parts, tokens a second."""
    from coding_framework.agents.models.loading import keep_to_cpu, release_memory
    from coding_framework.cli.output import print_record
    from coding_framework.config import load_config
    from coding_framework.evaluation.bench.sft_bench import bench_sft
    from coding_framework.evaluation.bench.train_bench import bench_train
    from coding_framework.pipeline import fetch
    from coding_framework.training.plan.machine import look_at_machine
    from coding_framework.training.plan.make import make_plan

    machine = look_at_machine()
    asked = load_config(config, set_ or (), {"model.name": model} if model else {})
    chosen = make_plan(asked, machine).config
    if not chosen.rl.num_gpus:
        keep_to_cpu()
    path, warm_start = fetch(chosen.model.name), None
    with steps_shown() as step:
        if chosen.sft.enabled:
            on_step = step("SFT", _WARM_UP + sft_steps)
            warm_start = bench_sft(chosen, path, steps=sft_steps, warm_up=_WARM_UP, on_step=on_step)
            release_memory()
            if not json:
                show_sft(warm_start)
        advance = step("RL", steps)

        def on_rl_step(figures: RLStepFigures) -> None:
            _tell(figures)
            advance()

        result = bench_train(chosen, machine, path, steps=steps, keep=keep, on_step=on_rl_step).model_copy(
            update={"sft": warm_start}
        )
    if json:
        print_record(result)
    else:
        _show(result)


def _show(result: BenchTrainResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console

    turns = f"{result.max_turns} turn{'' if result.max_turns == 1 else 's'}"
    table = Table(
        *("what", "figure"),
        title=f"{result.model}, {result.weights}, {result.device}: {result.prompts} × {result.group_size} "
        f"episodes of {turns}, {result.max_prompt_tokens} + "
        f"{result.max_response_tokens} tokens, judged by {result.judged}",
    )
    for name, value in _rows(result):
        table.add_row(name, Text(value))
    stdout_console().print(table)
    stdout_console().print(_steps_table(result.steps))


def _rows(result: BenchTrainResult) -> Iterator[tuple[str, str]]:
    stages = ", ".join(f"{name.replace('_', ' ')} {seconds:.0f} s" for name, seconds in result.start.items())
    yield "start", stages
    yield "a step", f"{result.step_s:.1f} s (mean of {len(result.counted)})"
    yield "judging", f"{result.judging_share:.0%} of it"
    yield "rollout", f"{result.rollout_tokens_per_s:,.0f} new tokens/s while it samples"
    yield "update", f"{result.update_tokens_per_s:,.0f} tokens/s"
    yield "episodes lost", str(sum(step.episodes_lost for step in result.steps))


def _steps_table(steps: tuple[RLStepFigures, ...]) -> object:
    from rich.table import Table

    from coding_framework.evaluation.bench.train_records import COLUMNS

    table = Table(*COLUMNS)
    for step in steps:
        table.add_row(*step.cells)
    return table


def _tell(step: RLStepFigures) -> None:
    """At once, on standard error: a run that is cut short has not been for nothing."""
    from coding_framework.cli.output import stderr_console
    from coding_framework.evaluation.bench.train_records import COLUMNS

    words = ", ".join(f"{name} {cell}" for name, cell in zip(COLUMNS, step.cells, strict=True))
    stderr_console().print(words, markup=False, highlight=False)
