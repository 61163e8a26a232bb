"""Notices that a process which the training needs has died, and says so in one sentence.

verl notices a dead process when it next asks it for something, and for some it waits for ever: the rows
of a dead one never come. So a thread of the process that trains asks every actor of the training whether
it is there. A call that waits behind long work is no sign of anything; only Ray's own word that the
actor is dead counts.

Guaranteed: nothing depends on how long an answer takes. Not guaranteed: that a process which hangs is
noticed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coding_framework.monitoring.storage import write_whole
from coding_framework.training.rl.names import QUEUE_NAMESPACE, ROLLOUT_NAME

_POLL_S = 1.0
_LAST_LOOK_S = 10.0
_WORDS = (
    (ROLLOUT_NAME, "the process that samples answers"),
    ("vllm", "the process that samples answers (vLLM)"),
    ("agent_loop_worker", "the process that runs the episodes"),
    ("TransferQueue", "the process that keeps the episodes' rows"),
    ("WorkerDict", "the process that trains the model"),
)


def record_loss(file: Path, name: str) -> None:
    """Write down who died, for the launcher, which then ends the run; the first one counts."""
    if not file.exists():
        who = next((words for part, words in _WORDS if part in name), f"the process {name}")
        write_whole(
            file,
            f"{who} died (killed, or out of memory): what was finished is kept, go on with --resume",
        )


@contextmanager
def watched(file: Path) -> Iterator[None]:
    """As long as the block runs, for all named actors that are there at its beginning."""
    watch = _Watch(file)
    watch.start()
    try:
        yield
    except Exception:
        watch.stop()
        watch.look(_LAST_LOOK_S)  # what raised may have been a death that others noticed first
        raise
    finally:
        watch.stop()


class _Watch:
    """Asks every actor whether it is there, and asks again once it has answered."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._actors = _named_actors()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="process-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def look(self, wait_s: float) -> None:
        """Ask all, and for so long look for an answer that one of them is dead."""
        asked = {actor.__ray_ready__.remote(): name for name, actor in self._actors.items()}
        deadline = time.monotonic() + wait_s
        while asked and time.monotonic() < deadline:
            self._collect(asked)

    def _run(self) -> None:
        asked: dict[Any, str] = {}
        while self._actors and not self._over.wait(_POLL_S):
            silent = set(self._actors) - set(asked.values())
            asked |= {self._actors[name].__ray_ready__.remote(): name for name in silent}
            self._collect(asked)

    def _collect(self, asked: dict[Any, str]) -> None:
        """Take out what has answered; a dead one is written down."""
        import ray
        from ray.exceptions import OutOfMemoryError, RayActorError

        ready, _ = ray.wait(list(asked), num_returns=len(asked), timeout=_POLL_S)
        for answer in ready:
            name = asked.pop(answer)
            try:
                ray.get(answer)
            except (RayActorError, OutOfMemoryError):  # the second where Ray itself ended it
                record_loss(self._file, name)


def _named_actors() -> dict[str, Any]:
    """Of this training: those of others on the same cluster come and go."""
    import ray

    ours = (ray.get_runtime_context().namespace, QUEUE_NAMESPACE)
    found = [one for one in ray.util.list_named_actors(all_namespaces=True) if one["namespace"] in ours]
    return {one["name"]: ray.get_actor(one["name"], namespace=one["namespace"]) for one in found}
