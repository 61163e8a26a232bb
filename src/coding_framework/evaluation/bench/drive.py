"""Ask a function many things at once until there is no more to ask, or no more time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Driven(Generic[Item, Answer]):
    """Everything that was asked and answered, and how long it took."""

    items: list[Item]
    answers: list[Answer]
    elapsed_s: float
    cpu_s: float
    """CPU time of this process alone."""

    @property
    def per_s(self) -> float:
        return len(self.answers) / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def cpu_ms(self) -> float:
        """CPU time of this process for one answer."""
        return 1e3 * self.cpu_s / len(self.answers) if self.answers else 0.0


def drive(
    function: Callable[[Item], Answer],
    items: Iterable[Item],
    *,
    width: int,
    seconds: float,
    on_done: Callable[[], None] = lambda: None,
) -> Driven[Item, Answer]:
    """`width` at a time, as they come; nothing new is begun after `seconds`. An error ends it."""
    source, lock = iter(items), threading.Lock()
    asked: list[Item] = []
    answered: list[Answer] = []
    started, cpu = time.perf_counter(), time.process_time()
    deadline = started + seconds

    def work() -> None:
        while time.perf_counter() < deadline:
            with lock:
                try:
                    item = next(source)
                except StopIteration:
                    return
            answer = function(item)
            with lock:
                asked.append(item)
                answered.append(answer)
            on_done()

    with ThreadPoolExecutor(width, thread_name_prefix="bench") as threads:
        for future in [threads.submit(work) for _ in range(width)]:
            future.result()
    return Driven(asked, answered, time.perf_counter() - started, time.process_time() - cpu)
