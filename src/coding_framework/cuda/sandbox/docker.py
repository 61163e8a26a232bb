"""The sandbox of a Docker engine: a container without network, capabilities or a writable root.

Guaranteed: the image's file system, read-only; of the host only what the request names, read-only;
private folders of bounded size; Docker's own seccomp profile and no new privileges; memory, processes
and processor time held by the engine's control groups and limits. The container ends with the program
and is removed by the supervisor, also after the judge's death.

Not guaranteed: an engine runs as root, and whoever may talk to it is root: the judge, never the
program. An exit code from 129 to 192 reads as a signal. A container takes some tenths of a second.
Programs of the request must fit the image: it is a minimal Debian with Python
(`scripts/build_sandbox_image.sh`), not this machine. The engine must be local, because what the
request names is mounted. Should the supervisor be killed with SIGKILL as well, the container stays
until somebody removes it: its name starts with `coding-framework-sandbox-`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from coding_framework.cuda.sandbox.base import SandboxRequest
from coding_framework.cuda.sandbox.held_sandbox import HeldSandbox
from coding_framework.cuda.sandbox.supervisor.limits import OPEN_FILES
from coding_framework.cuda.sandbox.supervisor.plan import WORK_FOLDER, Plan
from coding_framework.cuda.sandbox.view import (
    environment_for,
    gpu_devices,
    gpu_libraries,
    plain_limits,
    readable_pairs,
    unique_name,
    writable_pairs,
)
from coding_framework.errors import NotAvailableError

DEFAULT_IMAGE = "coding-framework-sandbox"
INPUT_FOLDER = "/input"
_ENGINE_PATIENCE_S = 15
_COPY_AND_RUN = f'cp -R {INPUT_FOLDER}/. . && exec "$@"'


class DockerSandbox(HeldSandbox):
    """Holds programs in with containers; implements `Sandbox`."""

    name = "docker"

    def __init__(self, image: str = DEFAULT_IMAGE) -> None:
        self._image = image

    def _try(self) -> str | None:
        if shutil.which("docker") is None:
            return "no docker command: install Docker"
        if (problem := _ask("version", "--format", "{{.Server.Version}}")) is not None:
            return f"no Docker engine answers ({problem}): start one, or set DOCKER_HOST"
        if _ask("image", "inspect", "--format", "{{.Id}}", self._image) is not None:
            return f"no image {self._image}: run  scripts/build_sandbox_image.sh {self._image}"
        return None

    def _plan(self, request: SandboxRequest) -> Plan:
        docker = shutil.which("docker")
        if docker is None:
            raise NotAvailableError("no docker command: install Docker")
        name = unique_name()
        folder = str(Path(tempfile.gettempdir()) / name) if request.files else ""
        return Plan(
            mode="docker",
            command=[docker, *arguments_for(request, self._image, name, folder)],
            environment=_tool_environment(),
            mounts=[],
            limits=plain_limits(request),
            gpu=request.gpu,
            namespaces="none",
            name=name,
            folder=folder,
            file_sizes={},
        )


def arguments_for(request: SandboxRequest, image: str, name: str, folder: str) -> list[str]:
    """The command line of `docker run`."""
    arguments = ["run", "--interactive", "--init", "--name", name, "--pull=never", "--log-driver=none"]
    arguments += ["--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    arguments += [f"--user={os.getuid()}:{os.getgid()}", "--workdir", WORK_FOLDER, "--hostname=sandbox"]
    arguments += ["--ipc=none"]
    arguments += _limits(request) + _folders(request) + _mounts(request, folder)
    arguments += ["--entrypoint", "/usr/bin/env", image, "-i"]
    arguments += [f"{key}={value}" for key, value in environment_for(request).items()]
    if folder:
        arguments += ["/bin/sh", "-c", _COPY_AND_RUN, "sh"]
    return [*arguments, *request.command]


def _limits(request: SandboxRequest) -> list[str]:
    limits = request.limits
    cpu_s = max(1, round(limits.cpu_s))
    arguments = [f"--pids-limit={limits.processes + 1}"]  # one is Docker's init
    if limits.memory_bytes is not None:
        memory = max(limits.memory_bytes, 6 * 2**20)  # the engine takes no less
        arguments += [f"--memory={memory}", f"--memory-swap={memory}"]
    for limit in (f"cpu={cpu_s}:{cpu_s + 1}", f"fsize={limits.file_bytes}", "core=0", f"nofile={OPEN_FILES}"):
        arguments += ["--ulimit", limit]
    return arguments


def _folders(request: SandboxRequest) -> list[str]:
    owner = f"uid={os.getuid()},gid={os.getgid()},mode=0755"
    options = f"rw,exec,nosuid,nodev,size={max(request.limits.file_bytes, 4096)},{owner}"
    folders = (WORK_FOLDER, "/tmp", "/dev/shm")
    return [part for folder in folders for part in ("--tmpfs", f"{folder}:{options}")]


def _mounts(request: SandboxRequest, folder: str) -> list[str]:
    pairs = readable_pairs(request)
    if folder:
        pairs.append((INPUT_FOLDER, folder))
    if request.gpu:
        pairs += [(path, path) for path in gpu_libraries()]
    options = [_mount_option(target, source, ["readonly"]) for target, source in pairs]
    options += [_mount_option(target, source, []) for target, source in writable_pairs(request)]
    arguments = [part for option in options for part in ("--mount", option)]
    return arguments + [part for path in gpu_devices() if request.gpu for part in ("--device", path)]


def _mount_option(target: str, source: str, access: list[str]) -> str:
    """One record of comma-separated values, as Docker reads it."""
    quoted = ['"' + field.replace('"', '""') + '"' for field in (f"source={source}", f"target={target}")]
    return ",".join(["type=bind", *quoted, *access])


def _tool_environment() -> dict[str, str]:
    """What the docker command itself needs; the program sees none of it."""
    names = [name for name in os.environ if name.startswith("DOCKER_")] + ["HOME", "PATH", "XDG_RUNTIME_DIR"]
    return {name: os.environ[name] for name in names if name in os.environ}


def _ask(*arguments: str) -> str | None:
    """None where the engine does as asked, else its words."""
    try:
        answer = subprocess.run(
            ["docker", *arguments],
            capture_output=True,
            text=True,
            timeout=_ENGINE_PATIENCE_S,
            env=_tool_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_ENGINE_PATIENCE_S} s"
    return None if answer.returncode == 0 else answer.stderr.strip()[-300:]
