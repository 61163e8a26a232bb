"""A process of the training that dies is written down, whoever ended it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

WATCHING = textwrap.dedent("""
    import os, signal, sys, time
    from pathlib import Path
    import ray
    from coding_framework.training.rl.process_watch import watched

    file, end = Path(sys.argv[1]), sys.argv[2]
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, namespace="one")

    @ray.remote
    class Actor:
        def process_id(self):
            return os.getpid()

    actor = Actor.options(name="agent_loop_worker_0").remote()
    with watched(file):  # before it is up: short memory may end it at once
        if end == "killed":
            os.kill(ray.get(actor.process_id.remote()), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.2)
""")


@pytest.mark.parametrize("end", ["killed", "ended by Ray, as memory is short"])
def test_a_dead_process_is_named(tmp_path: Path, end: str) -> None:
    file = tmp_path / "lost"
    environment = dict(os.environ)
    if end != "killed":
        environment |= {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "500"}
    command = [sys.executable, "-c", WATCHING, str(file), end]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150, env=environment)
    assert file.exists(), child.stderr[-2000:]
    assert file.read_text().startswith("the process that runs the episodes died")
