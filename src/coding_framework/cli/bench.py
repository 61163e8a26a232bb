"""`cuda-rl bench`: how fast and how steady the parts of the system are on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli import bench_sft, bench_train
from coding_framework.cli.bench_progress import steps_shown
from coding_framework.cli.options import ConfigOption, ExecutorOption, JsonOption, SetOption

if TYPE_CHECKING:
    from coding_framework.config import JudgeConfig
    from coding_framework.evaluation.bench.records import (
        BenchJudgeResult,
        BenchPairsResult,
        RepeatResult,
        SoakResult,
    )

app = typer.Typer(help="Measure this machine.", no_args_is_help=True)
app.command()(bench_sft.sft)
app.command()(bench_train.train)

MAX_SHOWN = 10

WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes side by side; all cores by default.")
]


@app.command()
def judge(
    executor: ExecutorOption = "auto",
    judgements: Annotated[int, typer.Option("--judgements", min=1, help="Kernels in each phase.")] = 200,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Limit of each phase.")] = 30.0,
    workers: WorkersOption = None,
    compare: Annotated[
        bool, typer.Option(help="Also build the same kernel with torch's load_inline.")
    ] = True,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Compiles and judgements in a second, where the time goes, and the ratio to torch's load_inline."""
    from coding_framework.cli.output import print_record
    from coding_framework.evaluation.bench.judge_bench import bench_judge

    chosen = _judge_config(config, set_, executor, workers)
    with steps_shown() as step:
        result = bench_judge(chosen, judgements=judgements, seconds=seconds, step=step, compare=compare)
    if json:
        print_record(result)
    else:
        _show_judge(result)


@app.command()
def soak(
    executor: ExecutorOption = "auto",
    judgements: Annotated[int, typer.Option("--judgements", min=1, help="Candidates in all.")] = 1000,
    workers: WorkersOption = None,
    run_timeout_s: Annotated[float, typer.Option(min=0.1, help="Limit of one run of a candidate.")] = 2.0,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Judge on and on, one in ten candidates hostile; exit code 1 if a verdict or a byte is lost."""
    from coding_framework.cli.output import print_record
    from coding_framework.evaluation.bench.soak import soak as run_soak

    chosen = _judge_config(config, set_, executor, workers)
    limits = {"run_timeout_s": run_timeout_s, "gpu_run_timeout_s": run_timeout_s}
    chosen = chosen.model_validate({**chosen.model_dump(), **limits})
    with steps_shown() as step:
        result = run_soak(chosen, judgements=judgements, on_done=step("judgements", judgements))
    if json:
        print_record(result)
    else:
        _show_soak(result)
    if result.complaints:
        raise typer.Exit(1)


@app.command()
def repeat(
    executor: ExecutorOption = "auto",
    workers: WorkersOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Time every kernel of the catalogue twice on the GPU; exit code 1 if two runs disagree."""
    from coding_framework.cli.output import print_record
    from coding_framework.evaluation.bench.repeat import num_judgements
    from coding_framework.evaluation.bench.repeat import repeat as run_twice

    chosen = _judge_config(config, set_, executor, workers)
    with steps_shown() as step:
        result = run_twice(chosen, on_done=step("judgements", num_judgements()))
    if json:
        print_record(result)
    else:
        _show_repeat(result)
    if result.complaints:
        raise typer.Exit(1)


@app.command()
def pairs(
    executor: ExecutorOption = "auto",
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="How long drafts are begun.")] = 60.0,
    workers: WorkersOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Training pairs made and judged in a minute, over all tiers, and what was shared between them."""
    from functools import partial

    from coding_framework.cli.output import print_record
    from coding_framework.config import load_config
    from coding_framework.data.sources.overlap import open_held_out
    from coding_framework.data.tasks import all_tasks
    from coding_framework.evaluation.bench.pairs_bench import bench_pairs

    chosen = _judge_config(config, set_, executor, workers)
    loaded = load_config(config, set_ or ())
    with steps_shown() as step:
        result = bench_pairs(
            chosen,
            all_tasks(),
            partial(open_held_out, loaded.tasks),
            seconds=seconds,
            seed=loaded.run.seed,
            on_done=step("pairs", 0),
        )
    if json:
        print_record(result)
    else:
        _show_pairs(result)


def _judge_config(
    config: str | None, set_: list[str] | None, executor: str, workers: int | None
) -> JudgeConfig:
    """The configured judge with what was named here; the executor is chosen, and said, once for all lanes."""
    from coding_framework.config import load_config
    from coding_framework.cuda.backend import choose_executor
    from coding_framework.records.cores import usable_cores

    loaded = load_config(config, set_ or ()).judge
    named = {"executor": executor, "workers": workers or usable_cores()}
    chosen = loaded.model_validate({**loaded.model_dump(), **named})
    return chosen.model_copy(update={"executor": choose_executor(chosen)})


def _show_judge(result: BenchJudgeResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console

    table = Table(
        "what", "figure", "how", title=f"{result.device}, {result.cores} cores, {result.architecture}"
    )
    for name, figure, how in _judge_rows(result):
        table.add_row(name, Text(figure, justify="right"), Text(how))
    console = stdout_console()
    console.print(table)
    for reason in result.comparison.missing:
        console.print(Text(reason, style="yellow"))


def _judge_rows(result: BenchJudgeResult) -> Iterator[tuple[str, str, str]]:
    compiling, judging, comparison = result.compiling, result.judging, result.comparison
    processes = f"{compiling.num_compiles} different kernels, {compiling.workers} processes"
    yield "compiles/s, cold cache", f"{compiling.cold_per_s:,.1f}", processes
    yield "compiles/s, cached", f"{compiling.cached_per_s:,.0f}", "the same again"
    yield "one compile", f"{compiling.latency_ms:.1f} ms", "median, one at a time"
    yield "caller's CPU for it", f"{compiling.caller_cpu_ms:.2f} ms", "what does not spread over cores"
    lanes = f"{judging.num_judgements} different kernels, {judging.workers} lanes"
    yield "judgements/s, cold cache", f"{judging.cold_per_s:,.2f}", lanes
    yield "judgements/s, compile cache warm", f"{judging.cached_per_s:,.2f}", "judged in full again"
    yield "judgements/s, remembered", f"{judging.remembered_per_s:,.0f}", "the same text for the same task"
    yield "one judgement", f"{judging.latency_s:.3f} s", f"mean on its lane; times are {judging.time_kind}"
    yield "caller's CPU for it", f"{judging.caller_cpu_ms:.2f} ms", "what does not spread over cores"
    for gate, share in judging.gate_shares.items():
        yield f"gate {gate.value}", f"{share:.1%}", "of the judging time"
    yield "verdicts", ", ".join(f"{count} {name}" for name, count in judging.verdicts.items()), ""
    yield "load_inline", _seconds(comparison.load_inline_s), "torch's extension of one kernel"
    yield "kernel", _seconds(comparison.kernel_s), f"the same kernel: {_ratio(comparison.kernel_ratio)}"
    how = f"against the {comparison.extension_header or 'light'} header: {_ratio(comparison.extension_ratio)}"
    yield "extension", _seconds(comparison.extension_s), how


def _seconds(value: float | None) -> str:
    return "not available here" if value is None else f"{value:.3f} s"


def _ratio(value: float | None) -> str:
    return "no ratio here" if value is None else f"{value:,.0f} times faster than load_inline"


def _show_soak(result: SoakResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console

    table = Table("what", "found", title=f"{result.num_asked} judgements in {result.duration_s:.0f} s")
    for name, value in _soak_rows(result):
        table.add_row(name, Text(value))
    console = stdout_console()
    console.print(table)
    for complaint in (*result.complaints, *result.honest_failures):
        console.print(Text(complaint, style="bold red"))
    if not result.complaints:
        console.print(Text("clean: every verdict is there, and nothing is left", style="green"))


def _soak_rows(result: SoakResult) -> Iterator[tuple[str, str]]:
    yield "verdicts", f"{result.num_verdicts} of {result.num_asked}"
    yield "hostile candidates", f"{result.num_hostile}, of which {result.num_hostile_passed} passed"
    yield "honest ones rejected", str(result.num_honest_failed)
    yield "by verdict", ", ".join(f"{count} {name}" for name, count in sorted(result.verdicts.items()))
    yield "judge faults, asked again", str(result.num_faults)
    first, last = result.samples[0], result.samples[-1]
    yield "processes", f"{first.num_processes} after the first batch, {last.num_processes} after the last"
    sizes = f"{first.host_bytes / 2**20:,.0f} MiB first, {last.host_bytes / 2**20:,.0f} MiB last"
    yield "host memory", f"{sizes}; growth {result.host_growth_bytes / 2**20:+,.0f} MiB"
    gpu = result.gpu_growth_bytes
    yield "GPU memory", "no GPU" if gpu is None else f"growth {gpu / 2**20:+,.0f} MiB"
    yield "left behind", f"{len(result.leaked_processes)} processes, {result.leaked_descriptors} descriptors"


def _show_repeat(result: RepeatResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console
    from coding_framework.evaluation.bench.records import MIN_REPEATED_US

    counted = result.counted
    table = Table(
        *("kernel", "first run", "second run", "apart", "in each other's interval"),
        title=f"the least alike of {len(counted)} kernels over {MIN_REPEATED_US:g} µs, "
        f"{len(result.kernels)} judged twice in {result.duration_s:.0f} s",
    )
    for name, *figures in _repeat_rows(result):
        table.add_row(name, *(Text(figure, justify="right") for figure in figures))
    console = stdout_console()
    console.print(table)
    for complaint in result.complaints:
        console.print(Text(complaint, style="bold red"))
    if not result.complaints:
        console.print(Text("two runs agree for every kernel", style="green"))


def _repeat_rows(result: RepeatResult) -> Iterator[tuple[str, ...]]:
    for kernel in result.counted[:MAX_SHOWN]:
        medians = kernel.medians_us or ()
        covered = "yes" if kernel.covered else "no"
        yield kernel.name, *(f"{median:,.1f} µs" for median in medians), f"{kernel.difference:.2%}", covered


def _show_pairs(result: BenchPairsResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from coding_framework.cli.output import stdout_console

    table = Table("what", "figure", title=f"{result.num_kept} pairs in {result.seconds:.0f} s")
    for name, value in _pairs_rows(result):
        table.add_row(name, Text(value))
    stdout_console().print(table)


def _pairs_rows(result: BenchPairsResult) -> Iterator[tuple[str, str]]:
    yield (
        "kept pairs a minute",
        f"{result.kept_per_minute:,.0f} ({result.workers} lanes, {result.cores} cores)",
    )
    yield "CPU time a kept pair", f"{result.cpu_s_per_pair:.3f} s of all processes"
    yield "by tier", ", ".join(f"{tier}: {count}" for tier, count in result.by_tier.items())
    yield "by kind", ", ".join(f"{kind}: {count}" for kind, count in result.by_kind.items())
    yield "families", f"{len(result.by_family)}: {', '.join(result.by_family)}"
    dropped = ", ".join(f"{count} {reason}" for reason, count in result.rejected.items())
    yield (
        "dropped drafts",
        f"{result.num_drafts - result.num_kept} of {result.num_drafts}: {dropped or 'none'}",
    )
    asked = result.judged_in_full + result.shared + result.remembered
    shared = f"{result.shared} of {asked} candidates had the PTX and plan of one that had passed"
    yield (
        "verdicts shared by PTX",
        f"{result.shared_rate:.0%}: {shared}; {result.judged_in_full} were judged in full",
    )
    cached = f"{result.from_cache} of {result.compiled} compilations; it was empty at the start"
    yield "compile cache hits", cached
    yield "times are", result.time_kind or "none: no pair was kept"
