"""`cuda-rl evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import ConfigOption, JsonOption, SetOption
from coding_framework.errors import FrameworkError, UserError

if TYPE_CHECKING:
    from coding_framework.config import FrameworkConfig
    from coding_framework.monitoring.figure_records import ModelFigures


def evaluate(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Embedded model, local folder, Hugging Face name, or module:attribute for a model of your "
            "own; the config's by default."
        ),
    ] = None,
    suite: Annotated[
        Path | None,
        typer.Option(
            help="Folder of problems instead of the config's tasks: KernelBench-style .py files (need a "
            "GPU), .cu files with a naive kernel and a header."
        ),
    ] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Episodes of each task.")] = None,
    turns: Annotated[int | None, typer.Option(min=1, max=20, help="Turns of an episode.")] = None,
    k: Annotated[
        list[int] | None,
        typer.Option("--k", min=1, help="The k of pass@k; repeatable.", show_default="1 and --samples"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for every sample; an evaluation that was stopped goes on there.",
            show_default="evaluations/TIME-MODEL",
        ),
    ] = None,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Leave out problems that cannot be asked, and name them.")
    ] = False,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Sample kernels for every task with one model, judge them, keep every sample, and count."""
    from coding_framework.cli.output import print_record, stdout_console
    from coding_framework.cli.records import Evaluated
    from coding_framework.cli.tables import show_evaluation
    from coding_framework.config import load_config
    from coding_framework.monitoring.logs import configure_logging

    if skip_broken and suite is None:
        raise UserError("--skip-broken is about the files of --suite: name a folder, or leave it out")
    given: dict[str, object] = {"model.name": model, "evaluation.samples_per_task": samples}
    given["evaluation.max_turns"] = turns
    values = {key: value for key, value in given.items() if value is not None}
    settings = load_config(config, set_ or (), values)
    ks = tuple(sorted(set(k or ())))
    if ks and ks[-1] > settings.evaluation.samples_per_task:
        raise UserError(
            f"pass@{ks[-1]} needs {ks[-1]} samples of each task, and there are "
            f"{settings.evaluation.samples_per_task}: raise --samples"
        )
    folder = out or _new_folder(settings.model.name)
    configure_logging("info", None)
    figures = _evaluate(settings, suite, folder, ks, skip_broken=skip_broken)
    if json:
        print_record(Evaluated(folder=folder, figures=figures))
        return
    console = stdout_console()
    show_evaluation(console, [figures])
    console.print(f"every sample: {folder}", markup=False, soft_wrap=True)


def _evaluate(
    settings: FrameworkConfig, suite: Path | None, folder: Path, ks: tuple[int, ...], *, skip_broken: bool
) -> ModelFigures:
    import asyncio

    from coding_framework.cli.output import stderr_console
    from coding_framework.monitoring.evaluation_folder import SAMPLES
    from coding_framework.pipeline import evaluate_once

    try:
        return asyncio.run(evaluate_once(settings, folder, suite=suite, skip_broken=skip_broken, ks=ks))
    except (FrameworkError, KeyboardInterrupt) as error:
        if not isinstance(error, UserError) and (folder / SAMPLES).is_file():
            words = f"every finished sample is kept; the same command with  --out {folder}  goes on"
            stderr_console().print(words, markup=False, soft_wrap=True)
        raise


def _new_folder(model: str) -> Path:
    from coding_framework.evaluation.evaluate import label_of
    from coding_framework.monitoring.run_folder import run_name

    name = label_of(Path(model))
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return Path("evaluations") / run_name(plain.strip(".") or "model")
