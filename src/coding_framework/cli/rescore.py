"""`cuda-rl rescore`: what a run's stored conversations would have earned under another reward."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import JsonOption, SetOption
from coding_framework.errors import UserError

if TYPE_CHECKING:
    from coding_framework.training.reward_functions.rescore_records import RescoreReport, RewardComparison


def rescore(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Apply another reward to a run's stored conversations, e.g. --set reward.preset=gated."""
    from coding_framework.cli.output import print_record
    from coding_framework.config import load_config
    from coding_framework.monitoring.progress import progress_bar
    from coding_framework.monitoring.run_folder import RunFolder
    from coding_framework.training.reward_functions.rescoring import rescore_run

    folder = RunFolder.open(run)
    overrides = set_ or []
    strange = [text for text in overrides if not text.strip().startswith("reward.")]
    if strange:
        raise UserError(f"rescore changes the reward alone: --set {strange[0]} is not a key under reward.")
    config = load_config(folder.path / "config.json", overrides)
    # Another function starts from the defaults: the run's settings were those of its own.
    function = any(text.partition("=")[0].strip() == "reward.function" for text in overrides)
    reward = load_config(None, overrides).reward if function else config.reward
    with progress_bar("rescoring", None) as bar:
        report = rescore_run(
            folder,
            reward,
            early_stop_reward=config.conversation.early_stop_reward,
            on_conversation=bar.advance,
        )
    if json:
        print_record(report)
    else:
        _show(report)


def _show(report: RescoreReport) -> None:
    from rich.table import Table

    from coding_framework.cli.output import stdout_console

    table = Table(title=f"Mean reward of a turn, as stored and under {report.reward.title}")
    for name in ("", "turns", "stored", "now", "change"):
        table.add_column(name, justify="right" if name else "left")
    for rows in ((report.overall,), report.by_agent, report.by_task, report.by_verdict):
        for row in rows:
            table.add_row(*_cells(row))
        table.add_section()
    console = stdout_console()
    console.print(table)
    for line in _facts(report):
        console.print(line, markup=False, soft_wrap=True)


def _cells(row: RewardComparison) -> tuple[str, ...]:
    change = row.new_mean - row.old_mean
    return (row.group, f"{row.turns:,}", f"{row.old_mean:.3f}", f"{row.new_mean:.3f}", f"{change:+.3f}")


def _facts(report: RescoreReport) -> list[str]:
    rank = report.rank_correlation
    lines = [
        f"rank correlation: {'none (one of the rewards never differs)' if rank is None else f'{rank:.3f}'}",
        f"conversations: {report.conversations:,}; {report.stops_moved:,} of them would have ended at "
        f"another turn",
    ]
    if report.skipped_lines:
        lines.append(f"skipped: {report.skipped_lines:,} lines that are no conversation")
    return [*lines, f"written: {report.written}"]
