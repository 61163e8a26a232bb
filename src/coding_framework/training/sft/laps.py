"""Where the time of a step goes, without waiting for the device in between.

On a GPU marks are events in the stream: what is timed is the device's own work and its idling, not the
moment at which Python asked for it. They are read once, when the step is over.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from coding_framework.training.sft.results import StepSplit

if TYPE_CHECKING:
    import torch

Part = Literal["rows_s", "forward_s", "backward_s", "exchange_s", "update_s"]


class Laps:
    """One step's stopwatch: `mark` says to what the time since the mark before belongs."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[tuple[Part | None, Any]] = [(None, self._now())]

    def mark(self, part: Part) -> None:
        self._marks.append((part, self._now()))

    def split(self) -> StepSplit:
        """The sums of all parts; on a GPU this waits for the last mark."""
        if self._on_gpu:
            self._marks[-1][1].synchronize()
        sums: dict[str, float] = {}
        for (_, begin), (part, end) in zip(self._marks, self._marks[1:], strict=False):
            sums[str(part)] = sums.get(str(part), 0.0) + self._between_s(begin, end)
        return StepSplit.model_validate(sums)

    def _now(self) -> Any:
        if not self._on_gpu:
            return time.perf_counter()
        import torch

        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def _between_s(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end) / 1e3 if self._on_gpu else end - begin)
