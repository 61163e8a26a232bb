"""Starts the processes of an SFT team on this machine, passes on what the first one says, ends them all.

Guaranteed: when `train_in_team` returns or raises, no process of the team is left; one that dies is named,
and what was saved before stays. They run in sessions of their own, so Ctrl-C reaches them as a request
to stop after the step, not as a signal.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from coding_framework.agents.models.loading import default_device, require_transformers
from coding_framework.errors import ConfigError, FrameworkError, TrainingError, TrainingInterrupted
from coding_framework.training.sft.job import Listener, SFTJob, SFTLeft
from coding_framework.training.sft.results import SFTStep
from coding_framework.training.sft.team import Team

_GRACE_S = 5.0
"""A process that dies makes the others fail too: so long is waited for the first cause."""


Message = int | SFTStep | SFTLeft | FrameworkError | None
"""Steps done before; a step; the end of the first process; what went wrong; the end of another one."""


class _Worker:
    """A started process and the connection to it."""

    def __init__(self, team: Team, store: Path, job: SFTJob) -> None:
        ours, theirs = socket.socketpair()
        self.team = team
        self.connection = Connection(ours.detach())
        with theirs:
            command = [sys.executable, "-m", "coding_framework.training.sft.worker_main"]
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(os.getpid())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.connection.send((team, store, job))

    def receive(self) -> Message:
        """What it says; what is known of its end where it can say nothing any more."""
        try:
            message: Message = self.connection.recv()
        except (EOFError, OSError):
            return _Died(self.team, self.process.wait())
        return message

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.connection.close()


class _Died(TrainingError):
    """A process that ended without a word."""

    def __init__(self, team: Team, status: int) -> None:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(
            f"SFT process {team.rank + 1} of {team.size} {how}: its last checkpoint is whole, --resume "
            f"continues there"
        )


def train_in_team(job: SFTJob, size: int, listener: Listener) -> SFTLeft:
    """The job, done by `size` processes."""
    _require_cards(size)
    workers: list[_Worker] = []
    with TemporaryDirectory(prefix="cf-sft-") as folder:
        try:
            for rank in range(size):  # each is known, and ended, if the next does not start
                workers.append(_Worker(Team(rank, size), Path(folder) / "store", job))  # noqa: PERF401
            return _listen(workers, listener)
        finally:
            for worker in workers:
                worker.end()


def _require_cards(size: int) -> None:
    require_transformers()
    import torch

    cards = torch.cuda.device_count() if default_device() == "cuda" else 0
    if cards and size > cards:
        raise ConfigError(f"sft.workers={size} needs as many GPUs, and {cards} are here: set it to {cards}")


def _listen(workers: list[_Worker], listener: Listener) -> SFTLeft:
    """Until the first process is done, or one of them fails."""
    talking = {worker.connection: worker for worker in workers}
    while True:
        for connection in wait(list(talking)):
            worker = talking[connection]  # type: ignore[index]
            message = worker.receive()
            if isinstance(message, int):
                listener.on_start(message)
            elif isinstance(message, SFTStep):
                listener.on_step(message)
                worker.connection.send(listener.should_stop())
            elif isinstance(message, SFTLeft):
                return message
            elif message is None or (worker.team.rank and isinstance(message, TrainingInterrupted)):
                del talking[worker.connection]
            else:
                raise _first_cause(message, [other for other in talking.values() if other is not worker])


def _first_cause(seen: FrameworkError, others: list[_Worker]) -> FrameworkError:
    """A death before what was said on purpose, and that before what a process met with in between."""
    found, deadline = [seen], time.monotonic() + _GRACE_S
    open_ = {worker.connection: worker for worker in others}
    while open_ and (left_s := deadline - time.monotonic()) > 0:
        for connection in wait(list(open_), timeout=left_s):
            message = open_.pop(connection).receive()  # type: ignore[call-overload]
            if isinstance(message, FrameworkError):
                found.append(message)
    return min(found, key=lambda error: (not isinstance(error, _Died), type(error) is TrainingError))
