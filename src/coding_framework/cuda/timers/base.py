"""The seam between the judge and what tells time."""

from __future__ import annotations

from typing import Protocol

from coding_framework.cuda.check_runner import Subject
from coding_framework.cuda.rejection import Progress
from coding_framework.records import KernelTiming, ProfileReport

FLOOR_SLACK = 0.9
"""A time below this share of the speed-of-light floor is impossible."""


class Timer(Protocol):
    """Times a candidate that passed every check; the timed runs are checked too."""

    def time(self, subject: Subject, progress: Progress) -> tuple[KernelTiming, ProfileReport | None]: ...

    def close(self) -> None: ...


def floor_words(median_us: float, floor_us: float, device: str) -> str:
    """Why a time cannot be."""
    return (
        f"{median_us:.2f} us is less than the {floor_us:.2f} us in which the {device} can move the task's "
        "bytes: work is missing"
    )
