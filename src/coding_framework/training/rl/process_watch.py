"""Notices that a process which the training needs has died, and says so in one sentence.

verl notices a dead process when it next asks it for something, and for some it waits for ever: the rows
of a dead one never come. So a thread of the process that trains asks every actor that Ray knows whether
it is there. A call that waits behind long work is no sign of anything; only Ray's own word that the
actor is dead counts.

Guaranteed: nothing depends on how long an answer takes. Not guaranteed: that a process which hangs is
noticed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coding_framework.monitoring.storage import write_whole
from coding_framework.training.rl.names import ROLLOUT_NAME

_POLL_S = 2.0
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
        watch.look()  # what raised may have been a death that was noticed elsewhere first
        raise
    finally:
        watch.stop()


class _Watch:
    """Asks every actor whether it is there, and asks again once it has answered."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._actors = _named_actors()
        self._asked: dict[Any, str] = {self._ask(name): name for name in self._actors}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="process-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Write down an actor of whose death Ray knows."""
        import ray
        from ray.exceptions import RayActorError

        ready, _ = ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)
        for answer in ready:
            name = self._asked.pop(answer)
            try:
                ray.get(answer)
            except RayActorError:
                record_loss(self._file, name)
            else:
                self._asked[self._ask(name)] = name

    def _run(self) -> None:
        while self._asked and not self._over.wait(_POLL_S):
            self.look()

    def _ask(self, name: str) -> Any:
        return self._actors[name].__ray_ready__.remote()


def _named_actors() -> dict[str, Any]:
    import ray

    found = ray.util.list_named_actors(all_namespaces=True)
    return {one["name"]: ray.get_actor(one["name"], namespace=one["namespace"]) for one in found}
