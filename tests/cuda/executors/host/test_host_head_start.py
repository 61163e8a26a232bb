"""Nobody begins before the clock does: not in a thread, not for several calls at once, not in the harness.

Each cheat is right in every call, so that only its time is a lie. On CPU tensors, in the real sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host_support import TASK, module

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.bench import TaskBench
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostOutcome, HostSettings
from coding_framework.cuda.executors.host.session import ChildSession
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.records import Candidate, ModuleTask, Verdict

CONFIG = JudgeConfig(timed_launches=12, run_timeout_s=20)
SETTINGS = HostSettings(device="cpu", blocks=3, clock_slack_us=2000, require_own_kernels=False, patience_s=3)


def task(name: str, sizes: str, model: str, inputs: str, init: str = "") -> ModuleTask:
    source = f"import torch\nfrom torch import nn\n{sizes}\n\n\nclass Model(nn.Module):\n{model}\n\n"
    source += f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return [{init}]\n"
    return ModuleTask(name=name, source=source, hidden_constants=({sizes.split(" ")[0]: 33},))


def judged(problem: ModuleTask, source: str) -> HostOutcome:
    with HostExecutor(CONFIG, ProcessSandbox(), SETTINGS) as executor:
        return executor.judge_host(problem, Candidate(source=source, contract="module"))


WATCHES = """
import queue, time
from logging.handlers import QueueListener
import torch
from torch import nn

KNOWN, READY = {}, {}


class Watcher(QueueListener):
    def handle(self, record):
        while True:
            for key, (a, b) in list(KNOWN.items()):
                mark = a[-1].tolist(), b[-1].tolist()
                if key not in READY or READY[key][0] != mark:
                    READY[key] = mark, a @ b
            time.sleep(0.0003)


waiting = queue.Queue()
Watcher(waiting).start()
waiting.put(1)


class ModelNew(nn.Module):
    def forward(self, a, b):
        key = a.data_ptr()
        KNOWN[key] = a, b
        if key in READY and READY[key][0] == (a[-1].tolist(), b[-1].tolist()):
            return READY[key][1]
        return a @ b
"""


def test_no_thread_looks_for_the_inputs_of_the_next_call() -> None:
    model = "    def forward(self, a, b):\n        return torch.matmul(a, b)"
    product = task("product", "N = 256", model, "torch.randn(N, N), torch.randn(N, N)")
    outcome = judged(product, WATCHES)
    assert outcome.verdict is Verdict.CRASHED, outcome.message
    assert "can't start new thread" in outcome.message


def test_nothing_of_it_runs_while_its_inputs_are_put_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever could wake it (a timer, a signal, another process) does so when the clock runs."""
    sessions: list[ChildSession] = []
    running: list[bool] = []
    start_child, ask = TaskBench.start_child, TaskBench._ask

    def started(bench: TaskBench, **given: Any) -> ChildSession:
        sessions.append(start_child(bench, **given))
        return sessions[-1]

    def asked(bench: TaskBench, function: str, name: str, *given: Any) -> Any:
        if function == "fill":
            alive = [session for session in sessions if session._process.is_running()]
            states = [all(map(is_still, session._process.processes())) for session in alive]
            running.append(not any(states))
        return ask(bench, function, name, *given)

    monkeypatch.setattr(TaskBench, "start_child", started)
    monkeypatch.setattr(TaskBench, "_ask", asked)
    with HostExecutor(CONFIG, ProcessSandbox(), SETTINGS) as executor:
        outcome = executor.judge_host(TASK, module("return self.right(x)"))
    assert outcome.verdict is Verdict.PASSED, outcome.message
    assert len(running) > 2 * CONFIG.timed_launches
    assert not any(running)


def is_still(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


BATCHES = """
import torch
from torch import nn

KNOWN, READY = {}, {}


def scan(x):
    h = torch.zeros_like(x[0])
    for row in x.unbind(0):
        h = torch.tanh(torch.add(row, h, alpha=0.5))
    return h


class ModelNew(nn.Module):
    def forward(self, x):
        key, mark = (x.shape, x.data_ptr()), x[-1].tolist()
        KNOWN[key] = x
        had = READY.pop(key, None)
        if had is not None and had[0] == mark:
            raise RuntimeError("what this call is asked was there before")
        keys = [k for k in KNOWN if k[0] == x.shape]
        answers = scan(torch.cat([KNOWN[k] for k in keys], 1)).split(x.shape[1])
        for k, answer in zip(keys, answers):
            READY[k] = KNOWN[k][-1].tolist(), answer
        return READY.pop(key)[1]
"""


def test_the_inputs_of_the_next_call_are_not_there_before_this_one_is_over() -> None:
    """It works ahead on all memory that it has seen, and would say so if that were ever of use."""
    model = (
        "    def forward(self, x):\n        h = torch.zeros_like(x[0])\n        for t in range(x.shape[0]):\n"
        "            h = torch.tanh(0.5 * h + x[t])\n        return h"
    )
    outcome = judged(task("scan", "T = 800", model, "torch.randn(T, 64)"), BATCHES)
    assert outcome.verdict is Verdict.PASSED, outcome.message


SLOTS = """
import torch
from torch import nn


class Slot:
    def __init__(self, owner, name, shape):
        self.owner, self.name, self.shape = owner, name, shape

    def detach(self):
        return self

    def copy_(self, source):
        self.owner.state[self.name] = source
        x = self.owner.last
        if self.name == "linear.bias" and x is not None:
            self.owner.answer = self.owner.compute(x)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n, self.state, self.last, self.answer = n, {}, None, None

    def named_parameters(self, *args, **kwargs):
        shapes = {"linear.weight": (self.n, self.n), "linear.bias": (self.n,)}
        return [(name, Slot(self, name, shape)) for name, shape in shapes.items()]

    def compute(self, x):
        return x @ self.state["linear.weight"].t() + self.state["linear.bias"]

    def forward(self, x):
        self.last = x
        return self.compute(x)
"""


def test_what_is_no_tensor_is_not_given_the_weights() -> None:
    model = (
        "    def __init__(self, n):\n        super().__init__()\n        self.linear = nn.Linear(n, n)\n\n"
        "    def forward(self, x):\n        return self.linear(x)"
    )
    outcome = judged(task("linear", "N = 256", model, "torch.randn(1, N)", "N"), SLOTS)
    assert outcome.verdict is Verdict.UNSUPPORTED, outcome.message
    assert "no parameter for Model's `linear.weight`" in outcome.message


@pytest.fixture(scope="module")
def executor() -> Iterator[HostExecutor]:
    with HostExecutor(CONFIG, ProcessSandbox(), SETTINGS) as started:
        yield started


def test_programs_may_still_be_started(executor: HostExecutor) -> None:
    """A module that compiles its kernels does so in the same process that is timed later."""
    top = """
import os, subprocess
subprocess.run(["true"], check=True)
if os.fork() == 0:
    os._exit(0)
os.wait()
"""
    outcome = executor.judge_host(TASK, module("return self.right(x)", top=top))
    assert outcome.verdict is Verdict.PASSED, outcome.message


def test_a_parameter_must_be_a_plain_tensor(executor: HostExecutor) -> None:
    top = "class Mine(nn.Parameter):\n    pass"
    init = "self.linear.weight = Mine(torch.empty(size, size))"
    outcome = executor.judge_host(TASK, module("return self.right(x)", top=top, init=init))
    assert outcome.verdict is Verdict.UNSUPPORTED, outcome.message
    assert "`linear.weight` is a Mine, not a plain torch tensor" in outcome.message


def test_what_it_says_about_a_hidden_shape_is_not_passed_on(executor: HostExecutor) -> None:
    body = """
        if x.shape[0] != 64:
            raise ValueError("rows " + "abcdefghij"[x.shape[0]])
        return self.right(x)
    """
    outcome = executor.judge_host(TASK, module(body))
    assert outcome.verdict is Verdict.CRASHED
    assert outcome.message == "it raised an error (running on a hidden shape)"


def test_half_a_character_is_no_way_out(executor: HostExecutor) -> None:
    outcome = executor.judge_host(TASK, module("raise RuntimeError('oh ' + chr(0xD800))"))
    assert outcome.verdict is Verdict.CRASHED
    assert "RuntimeError: oh ?" in outcome.message
    assert outcome.model_dump_json()


def test_a_shortcut_for_harmless_rows_is_not_taken_in_timed_calls() -> None:
    """It looks at a few elements; in what is timed every third row is large."""
    source = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if float(x.flatten()[:64].abs().max()) < 8:
            e = torch.exp(x)
            return e / e.sum(-1, keepdim=True)
        return torch.softmax(x, dim=-1)
"""
    model = "    def forward(self, x):\n        return torch.softmax(20 * x, dim=-1)"
    softmax = task("softmax", "R = 64", model, "torch.randn(R, 512)")
    outcome = judged(softmax, source.replace("exp(x)", "exp(20 * x)").replace("softmax(x", "softmax(20 * x"))
    assert outcome.verdict is Verdict.WRONG_RESULT, outcome.message
