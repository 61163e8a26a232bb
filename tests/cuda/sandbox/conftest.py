"""Every sandbox that can work here, and a look round after each test: nothing may stay behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandbox_bench import Bench, left_behind

from coding_framework.cuda.sandbox.base import Sandbox
from coding_framework.cuda.sandbox.bubblewrap import BubblewrapSandbox
from coding_framework.cuda.sandbox.docker import DockerSandbox
from coding_framework.cuda.sandbox.process import ProcessSandbox

MAKERS: dict[str, Callable[[], Sandbox]] = {
    "docker": DockerSandbox,
    "bubblewrap": BubblewrapSandbox,
    "process": ProcessSandbox,
    "process-as-root-without-user-namespace": lambda: ProcessSandbox("root"),
    "process-without-namespaces": lambda: ProcessSandbox("none"),
}
MADE: dict[str, Sandbox] = {}
REQUIRED = {"docker": "CODING_FRAMEWORK_REQUIRE_DOCKER", "bubblewrap": "CODING_FRAMEWORK_REQUIRE_DOCKER"}


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.docker] if name == "docker" else []) for name in MAKERS]
)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """One after the other; missing ones are skipped with their own words, or fail where they must run."""
    name = request.param
    if name not in MADE:
        MADE[name] = MAKERS[name]()
    problem = MADE[name].why_unavailable()
    if problem is not None:
        if name in REQUIRED and os.environ.get(REQUIRED[name]) == "1":
            pytest.fail(f"{REQUIRED[name]}=1, but {name} cannot work here: {problem}")
        pytest.skip(f"{name}: {problem}")
    return MADE[name]


@pytest.fixture
def bench(sandbox: Sandbox) -> Bench:
    return Bench(sandbox)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    yield
    prefix = f"coding-framework-sandbox-{os.getpid()}-"
    assert left_behind(prefix) == []


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the judge's own user that nobody inside may touch; it tells when it was signalled.

    SIGURG is ignored by every program that does not ask for it: a sandbox that leaks harms nobody.
    """
    code = (
        "import signal, time; signal.signal(signal.SIGURG, lambda *_: print('touched', flush=True)); "
        "print('ready', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code],
        stdout=subprocess.PIPE,
        env={"VICTIMS_SECRET": "only-the-victim-knows"},
    )
    assert process.stdout is not None
    assert process.stdout.peek() == b"ready\n"  # type: ignore[attr-defined]
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def secret_at_home() -> Iterator[Path]:
    """A file of the user, outside of everything that a request names."""
    home = Path.home() if os.access(Path.home(), os.W_OK) else Path(tempfile.gettempdir())
    path = home / f".coding-framework-secret-{os.getpid()}-{time.monotonic_ns()}"
    path.write_text("the-secret-at-home")
    yield path
    path.unlink()
