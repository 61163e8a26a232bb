"""`cuda-rl optimize` from the outside: the real judge, and a chat server of the test's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from coding_framework.cli.main import app
from coding_framework.data.problems.header import EXAMPLE
from coding_framework.errors import FrameworkError
from coding_framework.records import Conversation

SCATTERED, TOGETHER = "threadIdx.x * gridDim.x + blockIdx.x", "blockIdx.x * blockDim.x + threadIdx.x"
PROBLEM = EXAMPLE.replace("n=1048576", "n=262144").replace(TOGETHER, SCATTERED)
NAIVE = PROBLEM[PROBLEM.index("// launch") :]
FAST = NAIVE.replace(SCATTERED, TOGETHER)
BROKEN = NAIVE.replace("int i", "imt i")


class ChatServer:
    """Answers chat completions from a function of how many were asked before."""

    def __init__(self) -> None:
        self.answer: Callable[[int], str] = lambda number: NAIVE
        self.requests: list[dict[str, Any]] = []
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                chat.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                text = f"```cuda\n{chat.answer(len(chat.requests) - 1)}```"
                body = json.dumps(
                    {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(BrokenPipeError):  # whoever asked was interrupted
                    self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.spec = f"openai:scripted@http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    pytest.importorskip("httpx")
    one = ChatServer()
    thread = threading.Thread(target=one.server.serve_forever, daemon=True)
    thread.start()
    yield one
    one.server.shutdown()
    one.server.server_close()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "coding_framework.cli.main", "optimize", *arguments]


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def optimize(*arguments: str, cwd: Path) -> Ended:
    """In this process, as `main` would run it: an error is one message and its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        patch.setenv("OPENAI_API_KEY", "none")
        result = CliRunner().invoke(app, ["optimize", *arguments])
    if isinstance(result.exception, FrameworkError):
        return Ended(result.exception.exit_code, result.stdout, f"{result.stderr}{result.exception}")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


def _environment() -> dict[str, str]:
    quiet = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**quiet, "OPENAI_API_KEY": "none"}


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "mine.cu"
    path.write_text(PROBLEM)
    return path


def test_a_problem_ends_in_a_verified_faster_kernel_with_its_diff_and_picture(
    chat: ChatServer, problem: Path, tmp_path: Path
) -> None:
    chat.answer = lambda number: (BROKEN, FAST)[number % 2]
    answer = optimize(
        str(problem), "-m", chat.spec, "--turns", "2", "--tries", "2", "--out", "out", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert "(modelled) over the naive kernel" in answer.stdout
    assert f"-    int i = {SCATTERED};" in answer.stdout
    assert f"+    int i = {TOGETHER};" in answer.stdout
    assert "try 2  turn 1  generator  compile error" in answer.stderr
    out = tmp_path / "out"
    assert (out / "best.cu").read_text().strip() == FAST.strip()
    assert f"+    int i = {TOGETHER};" in (out / "best.diff").read_text()
    assert ElementTree.parse(out / "trajectory.svg").getroot().tag.endswith("svg")
    kept = [
        Conversation.model_validate_json(line)
        for line in (out / "conversations.jsonl").read_text().splitlines()
    ]
    assert [len(conversation.turns) for conversation in kept] == [2, 2]
    assert len({conversation.conversation_id for conversation in kept}) == 2
    assert len({request["seed"] for request in chat.requests}) == 4


def test_a_model_that_finds_nothing_is_told_of_honestly(
    chat: ChatServer, problem: Path, tmp_path: Path
) -> None:
    answer = optimize(str(problem), "-m", chat.spec, "--turns", "1", "--out", "out", "--json", cwd=tmp_path)
    assert answer.returncode == 11, answer.stderr
    outcome = json.loads(answer.stdout)
    assert outcome["improved"] is False
    assert outcome["passed"] == 1
    assert outcome["best_speedup_seen"] == pytest.approx(1.0)
    assert not (tmp_path / "out" / "best.cu").exists()
    again = optimize(str(problem), "-m", chat.spec, "--out", "out", cwd=tmp_path)
    assert again.returncode == 2
    assert "--resume" in again.stderr
    other = optimize(str(problem), "--turns", "3", "--out", "out", "--resume", cwd=tmp_path)
    assert other.returncode == 2
    assert "only --tries may be given" in other.stderr
    read = optimize(str(problem), "--out", "out", "--resume", cwd=tmp_path)
    assert read.returncode == 11, read.stderr
    assert "nothing better found" in read.stdout
    assert len(chat.requests) == 1


def test_ctrl_c_keeps_every_finished_turn_and_resume_goes_on(
    chat: ChatServer, problem: Path, tmp_path: Path
) -> None:
    asked_twice, go_on = threading.Event(), threading.Event()

    def answer(number: int) -> str:
        if number == 1:
            asked_twice.set()
            go_on.wait(60)
        return BROKEN if number == 0 else FAST

    chat.answer = answer
    arguments = (str(problem), "-m", chat.spec, "--turns", "2", "--out", "out")
    with subprocess.Popen(
        command(*arguments), cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        assert asked_twice.wait(60)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
    go_on.set()
    assert process.returncode == 130, words
    assert "--resume" in words
    assert "compile error" in (tmp_path / "out" / "trajectory.svg").read_text()
    resumed = optimize(str(problem), "--out", "out", "--resume", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert len(chat.requests) == 3  # the one that was interrupted is asked again, the first is not
    assert chat.requests[1] == chat.requests[2]


def test_a_file_without_a_header_is_refused_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "plain.cu").write_text(NAIVE)
    answer = optimize("plain.cu", "-m", "no/such/model", cwd=tmp_path)
    assert answer.returncode == 2
    assert "plain.cu is not a problem yet" in answer.stderr
    assert "// problem: scale_add" in answer.stderr
    assert not (tmp_path / "optimized").exists()


def test_a_kernelbench_file_without_a_gpu_is_refused_before_any_model_is_loaded(tmp_path: Path) -> None:
    from coding_framework.cuda.toolchain.detect import find_gpus

    if find_gpus()[1]:
        pytest.skip("there is a GPU here")
    (tmp_path / "bench.py").write_text(
        "import torch\nclass Model(torch.nn.Module): ...\ndef get_inputs(): ...\n"
    )
    answer = optimize("bench.py", "-m", "no/such/model", cwd=tmp_path)
    assert answer.returncode == 3
    assert "run on a GPU" in answer.stderr
    assert "no/such/model" not in answer.stderr


def test_a_cu_problem_for_a_gpu_says_that_there_is_none(problem: Path, tmp_path: Path) -> None:
    from coding_framework.cuda.toolchain.detect import find_gpus

    if find_gpus()[1]:
        pytest.skip("there is a GPU here")
    answer = optimize(str(problem), "--executor", "gpu", "-m", "no/such/model", cwd=tmp_path)
    assert answer.returncode == 3
    assert "GPU" in answer.stderr
    assert "no/such/model" not in answer.stderr


def test_a_naive_kernel_that_does_not_pass_stops_with_the_judges_words(tmp_path: Path) -> None:
    racy = PROBLEM.replace("if (i < n) y[i] =", "if (i < n) y[i / 2] =")
    (tmp_path / "racy.cu").write_text(racy)
    answer = optimize("racy.cu", "-m", "no/such/model", cwd=tmp_path)
    assert answer.returncode == 2
    assert "the naive kernel itself does not pass the judge" in answer.stderr
    assert "no/such/model" not in answer.stderr


def test_a_name_that_is_neither_file_nor_task_is_refused(tmp_path: Path) -> None:
    answer = optimize("row_sun", cwd=tmp_path)
    assert answer.returncode == 2
    assert "row_sum" in answer.stderr
    assert optimize("none.cu", cwd=tmp_path).returncode == 2
