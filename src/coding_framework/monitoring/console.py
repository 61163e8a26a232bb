"""The one rich console on standard error.

Log lines and progress bars both go through it: rich then prints a line above a live bar instead of
across it. Standard output stays free for the one record that `--json` promises.
"""

from __future__ import annotations

from functools import cache

from rich.console import Console


@cache
def stderr_console() -> Console:
    """Made at first use; it looks `sys.stderr` up at every write, so redirection works."""
    return Console(stderr=True, highlight=False)
