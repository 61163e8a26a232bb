"""Check every component for real: passed, failed, or not available here and why."""

from __future__ import annotations

import sys

from coding_framework.cli.system_check import ComponentResult, check_system

MARKS = {"passed": "PASSED", "failed": "FAILED", "not available": "NOT AVAILABLE"}


def show(result: ComponentResult) -> None:
    """One line as soon as it is known."""
    print(
        f"{MARKS[result.status]:<14} {result.component:<24} {result.seconds:6.1f} s  {result.detail}",
        flush=True,
    )


def main() -> int:
    """Exit code 1 if anything failed."""
    report = check_system(show)
    print(report.summary)
    return int(any(result.status == "failed" for result in report.results))


if __name__ == "__main__":
    sys.exit(main())
