"""Functions that show whether a worker keeps its promises, as the system check asks it to."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time


def echo(value: object) -> object:
    """The value itself, after its way there and back."""
    return value


def process_id() -> int:
    """The worker's process."""
    return os.getpid()


def loaded_modules() -> list[str]:
    """What the worker has imported so far."""
    return sorted(sys.modules)


def sleep(duration_s: float) -> None:
    """Take time."""
    time.sleep(duration_s)


def spawn_and_sleep(pid_path: str, duration_s: float) -> None:
    """Start a process of its own that sleeps, note its id, and wait for it."""
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({duration_s})"])
    with open(pid_path, "w") as file:  # noqa: PTH123
        file.write(str(child.pid))
    child.wait()


def allocate(size_bytes: int) -> int:
    """Take memory and touch it."""
    return len(bytearray(size_bytes))


def end_by_signal(number: int) -> None:
    """Die as a crash in native code would."""
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(1)


def leave(*_arguments: object) -> None:
    """End without an answer."""
    os._exit(3)


def print_noise() -> str:
    """Write to both standard streams, from Python and from native code."""
    sys.stdout.write("stray output\n")
    sys.stderr.write("stray error\n")
    ctypes.CDLL(None).puts(b"stray native output")
    return "done"


def fail(message: str) -> None:
    """Raise."""
    raise RuntimeError(message)


def unpicklable() -> object:
    """Something that cannot be sent back."""
    return lambda: None


def environment(name: str) -> str | None:
    """One environment variable as the worker sees it."""
    return os.environ.get(name)


def open_descriptors() -> list[str]:
    """What the worker has open, as `number -> target`."""
    base = "/proc/self/fd"
    return [f"{fd} -> {_target(base, fd)}" for fd in sorted(os.listdir(base))]  # noqa: PTH208


def _target(base: str, descriptor: str) -> str:
    try:
        return os.readlink(f"{base}/{descriptor}")  # noqa: PTH115
    except OSError:  # the listing's own descriptor
        return ""
