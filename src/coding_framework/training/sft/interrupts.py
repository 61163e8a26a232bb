"""Ctrl-C between steps, not inside one.

An interrupt in the middle of an optimizer step would leave half-updated weights that no checkpoint
may hold. While training runs, the first Ctrl-C is only noted and acted upon when the step is done;
a second one interrupts at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether Ctrl-C was pressed.

    Leaves handlers alone that someone else has set, and threads that cannot have any.
    """
    noted = threading.Event()

    def note(signal_number: int, frame: FrameType | None) -> None:
        noted.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield noted.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield noted.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
