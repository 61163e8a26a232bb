"""What the machine does meanwhile: cores and memory of the host, and its NVIDIA cards.

A thread looks every few seconds; `take` gives the means since the last time it was called, so one call a
step gives means of the step. It speaks of the whole machine, whoever uses it. What this machine does not
have or does not tell is left out, never 0.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import structlog

log = structlog.stdlib.get_logger(__name__)

Reader = Callable[[], dict[str, float]]
"""One look."""


class SystemSampler:
    """Looks in a thread from its making to `close`."""

    def __init__(self, every_s: float, readers: tuple[Reader, ...] | None = None) -> None:
        self._every_s = every_s
        self._readers = (HostReader(), CardReader()) if readers is None else readers
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._seen: dict[str, list[float]] = {}
        self._thread = threading.Thread(target=self._look_on, name="system sampler", daemon=True)
        self._thread.start()

    def take(self) -> dict[str, float]:
        """Means since the last call; empty if nobody looked in between."""
        with self._lock:
            seen, self._seen = self._seen, {}
        return {name: sum(values) / len(values) for name, values in seen.items()}

    def close(self) -> None:
        """Safe to call twice."""
        self._ended.set()
        self._thread.join()

    def __enter__(self) -> SystemSampler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look_on(self) -> None:
        while not self._ended.wait(self._every_s):
            self.look()

    def look(self) -> None:
        """One more look, now."""
        found = {name: value for reader in self._readers for name, value in reader().items()}
        with self._lock:
            for name, value in found.items():
                self._seen.setdefault(name, []).append(value)


class HostReader:
    """From `/proc`: cores that were busy since the last look, and memory that is taken."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._before = self._busy()

    def __call__(self) -> dict[str, float]:
        before, self._before = self._before, self._busy()
        found = {"host_memory_bytes": self._memory()}
        if before and self._before and self._before[1] > before[1]:
            (busy, all_), (busy_before, all_before) = self._before, before
            found["host_cores_busy"] = (busy - busy_before) / (all_ - all_before) * (os.cpu_count() or 1)
        return {name: value for name, value in found.items() if value is not None}

    def _busy(self) -> tuple[float, float] | None:
        """Time of all cores so far, at work and in all."""
        try:
            first = (self._proc / "stat").read_text().splitlines()[0].split()
        except (OSError, IndexError):
            return None
        # user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in these already
        times = [float(word) for word in first[1:9]]
        return sum(times) - times[3] - times[4], sum(times)

    def _memory(self) -> float | None:
        try:
            lines = (self._proc / "meminfo").read_text().splitlines()
        except OSError:
            return None
        kib = {name: float(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        if "MemTotal" not in kib or "MemAvailable" not in kib:
            return None
        return (kib["MemTotal"] - kib["MemAvailable"]) * 1024


class CardReader:
    """From the driver (NVML): use, memory and power of each card, under `gpu0_…`, `gpu1_…`."""

    def __init__(self) -> None:
        self._nvml, self._cards = _open_nvml()

    def __call__(self) -> dict[str, float]:
        return {
            f"gpu{index}_{name}": value
            for index, card in enumerate(self._cards)
            for name, value in self._card(card).items()
        }

    def _card(self, card: Any) -> dict[str, float]:
        nvml = self._nvml
        asked: dict[str, Callable[[], float]] = {
            "busy": lambda: nvml.device_get_utilization_rates(card).gpu / 100,
            "memory_bytes": lambda: nvml.device_get_memory_info_v2(card).used,
            "power_w": lambda: nvml.device_get_power_usage(card) / 1000,
        }
        found = {}
        for name, ask in asked.items():
            try:
                found[name] = float(ask())
            except nvml.NvmlError:  # e.g. a virtual card that does not tell its power
                continue
        return found


def _open_nvml() -> tuple[Any, list[Any]]:
    """The library and its cards; none where there is no driver."""
    try:
        from cuda.bindings import nvml

        nvml.init_v2()
        cards = [nvml.device_get_handle_by_index_v2(index) for index in range(nvml.device_get_count_v2())]
    except Exception as error:  # each kind of absence has an exception of its own
        if any(Path("/proc/driver/nvidia/gpus").glob("*")):
            log.warning("no_readings_of_gpus", reason=f"{type(error).__name__}: {error}")
        return None, []
    return nvml, cards
