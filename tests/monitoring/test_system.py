"""What the machine did is a mean of what was seen; what it does not tell is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.monitoring.system import CardReader, HostReader, SystemSampler

STAT = "cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3\n"
MEMORY = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "stat").write_text(STAT.format(user=100, idle=100))
    (tmp_path / "meminfo").write_text(MEMORY)
    return tmp_path


def test_cores_at_work_are_those_since_the_last_look(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    look = HostReader(proc)
    (proc / "stat").write_text(STAT.format(user=130, idle=190))
    assert look() == {"host_memory_bytes": 600 * 1024, "host_cores_busy": pytest.approx(2.0)}
    assert "host_cores_busy" not in look(), "no time has passed"


def test_a_machine_that_tells_nothing_has_no_readings(tmp_path: Path) -> None:
    assert HostReader(tmp_path)() == {}


def test_a_reading_is_the_mean_since_the_last_time_it_was_taken() -> None:
    seen = iter([{"a": 1.0}, {"a": 3.0, "b": 5.0}, {"b": 7.0}])
    with SystemSampler(600, (lambda: next(seen),)) as sampler:
        assert sampler.take() == {}
        sampler.look()
        sampler.look()
        assert sampler.take() == {"a": 2.0, "b": 5.0}
        sampler.look()
        assert sampler.take() == {"b": 7.0}


def test_the_thread_looks_by_itself_at_this_machine() -> None:
    with SystemSampler(0.01) as sampler:
        found: dict[str, float] = {}
        while "host_memory_bytes" not in found:
            found = sampler.take()
    assert found["host_memory_bytes"] > 0


@pytest.mark.gpu
def test_a_card_tells_its_use_memory_and_power() -> None:
    found = CardReader()()
    assert 0 <= found["gpu0_busy"] <= 1
    assert found["gpu0_memory_bytes"] > 0
    assert found["gpu0_power_w"] > 1
