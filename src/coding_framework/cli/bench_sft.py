"""`cuda-rl bench sft`: tokens a second of the warm start, with where the time goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from coding_framework.cli.bench_progress import steps_shown
from coding_framework.cli.options import ConfigOption, JsonOption, SetOption

if TYPE_CHECKING:
    from coding_framework.evaluation.bench.sft_records import BenchSFTResult, SFTFigures


def sft(
    model: Annotated[
        str | None, typer.Option("--model", help="Instead of the config's `model.name`.")
    ] = None,
    method: Annotated[
        Literal["lora", "qlora", "full"] | None,
        typer.Option("--method", help="Instead of the config's `sft.method`."),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps that count.")] = 10,
    warm_up: Annotated[int, typer.Option("--warm-up", min=0, help="Steps before them that do not.")] = 3,
    pairs: Annotated[
        Path | None, typer.Option("--pairs", help="A file of pairs; else pairs drafted from the templates.")
    ] = None,
    compare: Annotated[
        Literal["trl"] | None, typer.Option("--compare", help="Also measure TRL's SFTTrainer.")
    ] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Tokens a second (prompt and answer) of SFT, and where a step's time goes."""
    from coding_framework.agents.models.loading import keep_to_cpu
    from coding_framework.cli.output import print_record
    from coding_framework.config import load_config
    from coding_framework.data.pair_files import read_pairs
    from coding_framework.evaluation.bench.sft_bench import bench_sft
    from coding_framework.pipeline import fetch
    from coding_framework.training.plan.machine import look_at_machine
    from coding_framework.training.plan.make import make_plan

    named = {"model.name": model, "sft.method": method}
    given = {key: value for key, value in named.items() if value}
    loaded = load_config(config, set_ or (), {**given, "rl.enabled": False})
    chosen = make_plan(loaded, look_at_machine()).config
    if not chosen.rl.num_gpus:
        keep_to_cpu()
    trainers = 2 if compare else 1
    with steps_shown() as step:
        result = bench_sft(
            chosen,
            fetch(chosen.model.name),
            steps=steps,
            warm_up=warm_up,
            compare_trl=compare == "trl",
            pairs=read_pairs(pairs) if pairs else (),
            on_step=step("steps", trainers * (steps + warm_up)),
        )
    if json:
        print_record(result)
    else:
        show(result)


def show(result: BenchSFTResult) -> None:
    """Its table."""
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console

    rows = f"packed rows of {result.row_tokens:,} tokens" if result.row_tokens else "padded batches"
    table = Table(
        *("trainer", "what", "figure"),
        title=f"{result.model}, {result.method}, {result.workers} × {result.device}: "
        f"{result.pairs_per_step} pairs a step, "
        f"{rows} ({result.attention})",
    )
    for figures in (result.ours, *([result.trl] if result.trl else [])):
        for name, value in _rows(figures):
            table.add_row(figures.trainer, name, Text(value))
    console = stdout_console()
    console.print(table)
    if result.ratio:
        console.print(Text(f"ours takes {result.ratio:.2f} times as many tokens a second"))


def _rows(figures: SFTFigures) -> Iterator[tuple[str, str]]:
    answers = f"of these {figures.answer_tokens_per_s:,.0f} of answers"
    yield "tokens/s", f"{figures.tokens_per_s:,.0f}, {answers}"
    per_step = figures.tokens / figures.steps
    yield "a step", f"{figures.step_s:.3f} s for {per_step:,.0f} tokens (mean of {figures.steps})"
    if figures.split:
        parts = figures.split.model_dump()
        shares = (f"{name.removesuffix('_s')} {value / figures.seconds:.0%}" for name, value in parts.items())
        yield "of its time", ", ".join(shares)
    if figures.peak_memory_bytes is not None:
        yield "peak memory", f"{figures.peak_memory_bytes / 2**30:.1f} GiB of the card"
    yield "loss", f"{figures.losses[0]:.3f} → {figures.losses[-1]:.3f}"
