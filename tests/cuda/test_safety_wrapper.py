"""Choosing a sandbox: the best that works, said aloud, and never another than the one asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from coding_framework.config.tree import JudgeConfig
from coding_framework.cuda.safety_wrapper import (
    DockerSandbox,
    SafetyWrapper,
    SecurityValidator,
    describe_sandboxes,
)
from coding_framework.cuda.sandbox.base import SandboxRequest
from coding_framework.errors import NotAvailableError

HELLO = SandboxRequest(command=("/bin/sh", "-c", "read line; echo hello $line"))


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither docker nor bwrap on the path."""
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("bare_machine")
def test_without_docker_and_bubblewrap_the_process_sandbox_is_taken_and_that_is_said() -> None:
    wrapper = SafetyWrapper()
    with capture_logs() as events:
        assert wrapper.sandbox.name == "process"
    (event,) = [event for event in events if event["event"] == "sandbox_chosen"]
    assert event["log_level"] == "warning"
    assert event["sandbox"] == "process"
    assert "no docker command" in event["passed_over"]
    assert [reason.name for reason in wrapper.reasons] == ["docker", "bubblewrap"]
    assert not any(reason.available for reason in wrapper.reasons)


@pytest.mark.usefixtures("bare_machine")
@pytest.mark.parametrize(
    ("name", "advice"), [("docker", "install Docker"), ("bubblewrap", "apt-get install")]
)
def test_a_named_sandbox_that_cannot_work_is_refused_with_advice(name: str, advice: str) -> None:
    wrapper = SafetyWrapper(JudgeConfig.model_validate({"sandbox": name}))
    with pytest.raises(NotAvailableError, match=advice):
        wrapper.run(HELLO)


def test_bubblewrap_is_next_after_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("no bwrap command on this machine")
    (tmp_path / "bwrap").symlink_to(bwrap)
    monkeypatch.setenv("PATH", str(tmp_path))
    wrapper = SafetyWrapper()
    assert wrapper.sandbox.name == "bubblewrap"
    assert [reason.name for reason in wrapper.reasons] == ["docker"]


def test_an_engine_that_does_not_answer_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if shutil.which("docker") is None:
        pytest.skip("no docker command on this machine")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    assert "no Docker engine answers" in str(DockerSandbox().why_unavailable())
    assert SafetyWrapper().sandbox.name != "docker"


@pytest.mark.docker
def test_an_image_that_is_missing_says_how_to_build_it() -> None:
    if DockerSandbox().why_unavailable() is not None:
        pytest.skip(f"docker: {DockerSandbox().why_unavailable()}")
    assert "build_sandbox_image.sh no-such-image" in str(DockerSandbox("no-such-image").why_unavailable())


def test_the_chosen_sandbox_runs_and_keeps_programs() -> None:
    wrapper = SafetyWrapper(JudgeConfig(sandbox="process"))
    assert wrapper.run(HELLO, b"world\n").stdout == b"hello world\n"
    held = wrapper.start(HELLO)
    held.stdin.write(b"again\n")
    held.stdin.flush()
    assert held.stdout.readline() == b"hello again\n"
    held.close()
    assert wrapper.sandbox is wrapper.sandbox


def test_all_sandboxes_are_described_best_first() -> None:
    described = describe_sandboxes()
    assert [found.name for found in described] == ["docker", "bubblewrap", "process"]
    for found in described:
        assert found.reason.startswith("works") == found.available


def test_the_validator_is_found_here_too() -> None:
    assert SecurityValidator.__module__.startswith("coding_framework.cuda.analysis")
