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
    over = threading.Event()
    actors = _named_actors()
    thread = threading.Thread(target=_watch, args=(actors, file, over), name="process-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _named_actors() -> dict[str, Any]:
    import ray

    found = ray.util.list_named_actors(all_namespaces=True)
    return {one["name"]: ray.get_actor(one["name"], namespace=one["namespace"]) for one in found}


def _watch(actors: dict[str, Any], file: Path, over: threading.Event) -> None:
    import ray
    from ray.exceptions import RayActorError

    asked = {actor.__ray_ready__.remote(): name for name, actor in actors.items()}
    while not over.wait(_POLL_S):
        ready, _ = ray.wait(list(asked), num_returns=len(asked), timeout=0)
        for answer in ready:
            name = asked.pop(answer)
            try:
                ray.get(answer)
            except RayActorError:
                if not over.is_set():
                    record_loss(file, name)
                return
            asked[actors[name].__ray_ready__.remote()] = name
