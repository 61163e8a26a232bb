"""One place where what went wrong becomes a message on standard error and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

import typer

from coding_framework.errors import FrameworkError, StorageError, TrainingInterrupted


def carried_out(action: Callable[[], object], in_words_of: Callable[[str], str] = str) -> int:
    """Exit code of `action`; `in_words_of` names things as the user did. Only known errors are caught."""
    try:
        action()
        sys.stdout.flush()
        return 0
    except FrameworkError as error:
        return _said(error, in_words_of)
    except KeyboardInterrupt:
        typer.secho("interrupted", err=True, fg=typer.colors.YELLOW)
        return TrainingInterrupted.exit_code
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        return _output_is_closed(error)


def _said(error: FrameworkError, in_words_of: Callable[[str], str]) -> int:
    stopped = isinstance(error, TrainingInterrupted)
    text = in_words_of(str(error))
    colour = typer.colors.YELLOW if stopped else typer.colors.RED
    typer.secho(text if stopped else f"error: {text}", err=True, fg=colour)
    for note in getattr(error, "__notes__", ()):
        typer.echo(note, err=True)
    return error.exit_code


def _output_is_closed(error: OSError) -> int:
    """What was still to be written is dropped, or the interpreter would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.EPIPE:  # e.g. `| head`: whoever reads has seen enough
        return 1
    typer.secho(f"error: the output cannot be written: {error.strerror}", err=True, fg=typer.colors.RED)
    return StorageError.exit_code
