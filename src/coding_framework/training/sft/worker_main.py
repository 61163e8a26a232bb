"""One process of an SFT team: `python -m …worker_main FD PARENT` (started by `workers`, not by hand).

It takes its place from the connection, works, and says how it ended. Whatever happens to the parent, it
does not outlive it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection

from coding_framework.errors import FrameworkError, TrainingError

_POLL_S = 0.5


def main(descriptor: int, parent: int) -> int:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    connection = Connection(descriptor)
    team, store, job = connection.recv()
    try:
        from coding_framework.training.sft.job import Listener, do_job

        nobody = Listener(lambda _: None, lambda _: None, lambda: False)
        parent_listens = Listener(connection.send, connection.send, connection.recv)
        team.join(store)
        left = do_job(job, team, nobody if team.rank else parent_listens)
        team.leave()
        connection.send(left)
    except FrameworkError as error:
        connection.send(error)
    except BaseException as error:
        reason = f"SFT process {team.rank + 1} of {team.size} failed: {type(error).__name__}: {error}"
        failed = TrainingError(reason)
        failed.add_note(traceback.format_exc())
        connection.send(failed)
    return 0


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os._exit(1)


if __name__ == "__main__":
    status = main(int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a peer that is gone can hold up the libraries' own farewells
