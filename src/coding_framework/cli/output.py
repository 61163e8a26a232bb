"""Standard output holds the result, standard error everything else."""

from __future__ import annotations

import sys

from rich.console import Console

from coding_framework.records import Record


def stderr_console() -> Console:
    """For progress, logs and complaints."""
    return Console(stderr=True)


def stdout_console() -> Console:
    """For the result."""
    return Console()


def print_record(record: Record) -> None:
    """One machine-readable record on standard output."""
    sys.stdout.write(record.model_dump_json() + "\n")
    sys.stdout.flush()
