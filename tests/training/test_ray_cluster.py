"""A cluster as `configs/ray_cluster.yaml` starts it: Ray knows every word of it, and training joins it."""

from __future__ import annotations

import json
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kernel_words_model import write_kernel_words_model

from coding_framework.config import (
    ConversationConfig,
    FrameworkConfig,
    JudgeConfig,
    RLConfig,
    load_config,
    preset_dir,
)
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.verl_integration import MultiAgentVERLTrainer

pytest.importorskip("verl")

TASK = "vector_add"


def cluster_file() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((preset_dir() / "ray_cluster.yaml").read_text())
    return found


def start_options(command: str) -> dict[str, str]:
    """Of the `ray start` in a line for a shell."""
    words = shlex.split(command[command.index("ray start") :])
    return {name: value for name, _, value in (word.partition("=") for word in words[2:])}


def head_options() -> dict[str, str]:
    return start_options(cluster_file()["head_start_ray_commands"][-1])


def system_config() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(head_options()["--system-config"])
    return found


def test_ray_takes_the_file_and_would_not_take_a_wrong_one() -> None:
    from jsonschema import ValidationError
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(cluster_file()))
    with pytest.raises(ValidationError, match="no_such_key"):
        validate_config(prepare_config({**cluster_file(), "no_such_key": 1}))


def test_ray_start_knows_every_option() -> None:
    from ray.scripts.scripts import start

    known = {option for parameter in start.params for option in parameter.opts}
    workers = start_options(cluster_file()["worker_start_ray_commands"][-1])
    assert {*head_options(), *workers} <= known


def test_it_has_the_sizes_that_the_presets_count_on() -> None:
    options = head_options()
    assert (options["--num-cpus"], options["--num-gpus"]) == ("32", "4")
    assert options["--object-store-memory"] == str(50 * 10**9)
    assert system_config()["max_io_workers"] == 8
    spilling = json.loads(system_config()["object_spilling_config"])
    assert spilling["type"] == "filesystem"
    config = load_config("cluster")
    gpus = config.rl.gpus
    assert config.rl.num_gpus == (gpus.actor or 0) + (gpus.judge or 0) == int(options["--num-gpus"])


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a head with the file's own settings of the system, and with sizes of a test."""
    from ray.util import get_node_ip_address

    monkeypatch.setenv("RAY_AUTH_MODE", "token")  # whatever this machine keeps for other clusters
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    spilling = {"type": "filesystem", "params": {"directory_path": [str(tmp_path / "spill")]}}
    system = {**system_config(), "object_spilling_config": json.dumps(spilling)}
    address = f"{get_node_ip_address()}:{_free_port()}"
    with tempfile.TemporaryDirectory(prefix="cfray-", ignore_cleanup_errors=True) as temp:
        command = [
            *(str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--num-cpus=10"),
            *(
                "--num-gpus=1",
                "--object-store-memory=100000000",
                "--disable-usage-stats",
                f"--temp-dir={temp}",
            ),
            *("--include-dashboard=false", "--node-ip-address=127.0.0.1"),
            *(f"--port={address.rpartition(':')[2]}", f"--system-config={json.dumps(system)}"),
        ]
        with (tmp_path / "ray.log").open("wb") as log:
            head = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            _wait_until_it_answers(address, head, tmp_path / "ray.log")
            yield address
            assert head.poll() is None, "training leaves the cluster as it was"
        finally:
            head.send_signal(signal.SIGTERM)
            head.wait(60)


@pytest.mark.slow
async def test_training_joins_a_running_cluster_and_judges_with_its_actors(
    cluster: str, tmp_path: Path
) -> None:
    config = FrameworkConfig(
        rl=RLConfig(
            steps=2,
            prompts_per_step=1,
            group_size=4,
            save_every=2,
            learning_rate=1e-2,
            lora_rank=4,
            num_gpus=0,
            ray_address=cluster,
        ),
        conversation=ConversationConfig(
            max_turns=1, max_prompt_tokens=512, max_response_tokens=16, early_stop_reward=0.5
        ),
        judge=JudgeConfig(executor="emulator", pool="ray", workers=2),
    )
    seen: dict[int, dict[str, float]] = {}
    result = await MultiAgentVERLTrainer(
        config,
        MultiTurnConversationManager(config.conversation),
        CUDAPerformanceReward(config.reward),
        run_dir=RunFolder.create(tmp_path, "run", config.model_dump_json()).path,
        model_path=write_kernel_words_model(tmp_path / "model", TASK),
        tasks=[TASK],
        on_step=seen.__setitem__,
    ).train()
    assert result.steps == 2
    assert [(values["episodes"], values["episodes_lost"]) for values in seen.values()] == [(4, 0), (4, 0)]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        port: int = one.getsockname()[1]
        return port


def _wait_until_it_answers(address: str, head: subprocess.Popen[bytes], log: Path) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + 120
    while "Ray runtime started" not in log.read_text():
        assert head.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    socket.create_connection((host, int(port)), timeout=10).close()
