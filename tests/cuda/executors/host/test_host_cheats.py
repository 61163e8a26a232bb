"""Exploits that live in host code, in the real sandbox: each with the verdict that stops it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from host_support import TASK, module

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.bench import BASE, TaskBench
from coding_framework.cuda.executors.host.clocks import Block, hold_against_wall
from coding_framework.cuda.executors.host.executor import MAX_HEARINGS, HostExecutor
from coding_framework.cuda.executors.host.outcome import HostSettings, HostTiming
from coding_framework.cuda.executors.host.session import ChildSession
from coding_framework.cuda.executors.host.timing import ClocksDisagree, time_candidate
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.records import Candidate, Verdict

CONFIG = JudgeConfig(timed_launches=10, run_timeout_s=3, run_memory_bytes=3 * 2**30)
SETTINGS = HostSettings(
    device="cpu", blocks=3, clock_slack_us=30_000, require_own_kernels=False, patience_s=3
)

FIND_HARNESS = """
import gc, os, sys, time, threading, ctypes, stat, struct, json
def find(kind):
    return [o for o in gc.get_objects() if type(o).__name__ == kind]
"""
SLOW = """
def slow(module, x):
    for _ in range(200): y = module.right(x)
    return y
"""

CHEATS: dict[str, tuple[Candidate, set[Verdict], str]] = {
    "returns its input": (module("return x"), {Verdict.ALIASED_OUTPUT}, "one of its inputs"),
    "returns a view of its input": (
        module("return x.flatten()[1:].as_strided(x.shape, (0, 1))"),
        {Verdict.ALIASED_OUTPUT},
        "one of its inputs",
    ),
    "zeroes its input afterwards": (
        module("y = self.right(x)\nx.zero_()\nreturn y"),
        {Verdict.INPUT_CHANGED},
        "wrote to `x`",
    ),
    "leaves before the check": (
        module("os._exit(0)", top="import os"),
        {Verdict.CRASHED},
        "ended before the check",
    ),
    "leaves while it is loaded": (
        module("return self.right(x)", top="import sys\nsys.exit(0)"),
        {Verdict.CRASHED},
        "",
    ),
    "never ends": (module("while True: pass"), {Verdict.TIMEOUT}, "did not finish within 3 s"),
    "crashes in native code": (
        module("ctypes.string_at(1)", top="import ctypes"),
        {Verdict.CRASHED},
        "ended before the check",
    ),
    "prints without end": (
        module("while True: print('x' * 100000)"),
        {Verdict.CRASHED, Verdict.TIMEOUT},
        "",
    ),
    "allocates without end": (
        module("self.kept = [bytearray(2**28) for _ in range(1000)]\nreturn self.right(x)"),
        {Verdict.CRASHED, Verdict.TIMEOUT},
        "",
    ),
    "returns a lazy tensor": (
        module(
            "return Lazy(self.right(x))",
            top="class Lazy(torch.Tensor):\n"
            "    def __new__(cls, t): return torch.Tensor._make_subclass(cls, t)",
        ),
        {Verdict.WRONG_RESULT},
        "a Lazy; a plain torch.Tensor is needed",
    ),
    "remembers by pointer": (
        module(
            "key = x.data_ptr()\nif key not in self.kept: self.kept[key] = self.right(x)\n"
            "return self.kept[key]",
            init="self.kept = {}",
        ),
        {Verdict.WRONG_RESULT, Verdict.NOT_DETERMINISTIC},
        "",
    ),
    "remembers its first answer": (
        module(
            "if self.kept is None: self.kept = self.right(x)\nreturn self.kept",
            init="self.kept = None",
        ),
        {Verdict.WRONG_RESULT},
        "",
    ),
    "remembers by a few elements and the shape": (
        module(
            "key = (x.shape, bool(x[0, 0] > 0))\n"
            "if key not in KEPT: KEPT[key] = self.right(x)\nreturn KEPT[key]",
            top="KEPT = {}",
        ),
        {Verdict.WRONG_RESULT},
        "",
    ),
    "prepares its weights once": (
        module(
            "if self.kept is None: self.kept = self.linear.weight.t().contiguous()\n"
            "return (x @ self.kept + self.linear.bias).clamp_min(0)",
            init="self.kept = None",
        ),
        {Verdict.WRONG_RESULT, Verdict.NOT_DETERMINISTIC},
        "",
    ),
    "knows the visible shape by heart": (
        module("y = self.right(x)\nreturn y if x.shape == (64, 96) else torch.zeros_like(y)"),
        {Verdict.WRONG_RESULT},
        "a hidden shape",
    ),
    "looks for the expected output": (
        module(
            """
            for found in gc.get_objects():
                if type(found) is torch.Tensor and found.shape == x.shape and found is not x:
                    if not found.isnan().any(): return found.clone()
            return torch.zeros_like(x)
            """,
            top=FIND_HARNESS,
        ),
        {Verdict.WRONG_RESULT},
        "elements are wrong",
    ),
    "turns the clocks back": (
        module(
            "time.sleep(0.08)\nreturn self.right(x)",
            top=FIND_HARNESS
            + "now = time.perf_counter()\ntime.perf_counter = time.monotonic = time.time = lambda: now\n"
            + "torch.cuda.synchronize = lambda *a: None",
            init="for clock in find('CpuClock'): clock._now = lambda: now",
        ),
        {Verdict.CLOCKS_DISAGREE},
        "the wall clock leaves",
    ),
    "leaves the cache flush out": (
        module(
            "return self.right(x)",
            top=FIND_HARNESS,
            init="for views in find('_SetViews'): views.flush = torch.zeros(1, dtype=torch.uint8)",
        ),
        {Verdict.CLOCKS_DISAGREE},
        "cache flush",
    ),
    "forges the answer with the right token": (
        module(
            """
            frame = sys._getframe()
            while 'request' not in frame.f_locals or not hasattr(frame.f_locals['request'], 'set_index'):
                frame = frame.f_back
            request = frame.f_locals['request']
            body = json.dumps({"token": request.token, "time_us": 1.0, "left_us": 0.0}).encode()
            for name in os.listdir('/proc/self/fd'):
                try:
                    if stat.S_ISFIFO(os.fstat(int(name)).st_mode):
                        os.write(int(name), struct.pack('<I', len(body)) + body)
                except OSError: pass
            time.sleep(0.2)
            return self.right(x)
            """,
            top=FIND_HARNESS,
        ),
        {Verdict.CRASHED},
        "an answer that does not belong to the request",
    ),
    "writes nonsense into every pipe": (
        module(
            """
            for name in os.listdir('/proc/self/fd'):
                try:
                    if stat.S_ISFIFO(os.fstat(int(name)).st_mode): os.write(int(name), b'\\xff' * 64)
                except OSError: pass
            return self.right(x)
            """,
            top=FIND_HARNESS,
        ),
        {Verdict.CRASHED},
        "broke the protocol",
    ),
    "finishes in a thread": (
        module(
            """
            y = torch.full_like(x, float('nan'))
            def later():
                time.sleep(0.02)
                y.copy_(self.right(x))
            threading.Thread(target=later).start()
            return y
            """,
            top=FIND_HARNESS,
        ),
        {Verdict.CRASHED},
        "can't start new thread",
    ),
    "writes the slot from a thread after the answer": (
        module(
            """
            slot = next(v for v in find('_SetViews') if v.inputs[0] is x).outputs[0]
            y = self.right(x)
            def later():
                time.sleep(0.003)
                slot.copy_(y)
            threading.Thread(target=later).start()
            return torch.zeros_like(y)
            """,
            top=FIND_HARNESS,
        ),
        {Verdict.CRASHED},
        "can't start new thread",
    ),
    "goes on in two processes": (
        module("os.fork()\nreturn self.right(x)", top="import os"),
        {Verdict.CRASHED, Verdict.TIMEOUT},
        "",
    ),
    "writes past its tensors": (
        module(
            "ctypes.memset(x.data_ptr() + x.numel() * 4, 0, 16)\nreturn self.right(x)",
            top="import ctypes",
        ),
        {Verdict.OUT_OF_BOUNDS},
        "outside its tensors",
    ),
    "works while its result is copied": (
        module(
            "y = torch.zeros_like(x)\nwaiting.append((self, x, y))\nreturn y",
            top=SLOW
            + """
copy, waiting = torch.Tensor.copy_, []
def late(target, source):
    while waiting:
        module, x, y = waiting.pop()
        copy(y, slow(module, x))
    return copy(target, source)
type(torch.zeros(1)).copy_ = late
""",
        ),
        {Verdict.WRONG_RESULT},
        "elements are wrong",
    ),
    "works when its result is thrown away": (
        module(
            "y = torch.zeros_like(x)\nends.append(weakref.ref(y, lambda _: finish(self, x)))\nreturn y",
            top=SLOW
            + """
import weakref
import numpy as np
ends = []
def finish(module, x):
    given = (x, module.linear.weight, module.linear.bias)
    at = sum(-(-(4 * tensor.numel() + 512) // 512) * 512 for tensor in given) // 4
    memory = np.lib.stride_tricks.as_strided(x.numpy().reshape(-1), (at + x.numel(),), (4,))
    memory[at:] = slow(module, x).numpy().reshape(-1)
""",
        ),
        {Verdict.WRONG_RESULT},
        "",
    ),
}


@pytest.fixture(scope="module")
def executor() -> Iterator[HostExecutor]:
    with HostExecutor(CONFIG, ProcessSandbox(), SETTINGS) as started:
        yield started


@pytest.mark.parametrize("what", CHEATS)
def test_a_cheat_is_stopped_for_its_reason(executor: HostExecutor, what: str) -> None:
    candidate, verdicts, words = CHEATS[what]
    outcome = executor.judge_host(TASK, candidate)
    assert outcome.verdict in verdicts, f"{outcome.verdict}: {outcome.message}"
    assert words in outcome.message
    assert outcome.timing is None


def test_work_cannot_be_done_in_the_flush_before_the_clock(executor: HostExecutor) -> None:
    """A flush of its own finds inputs that have changed, and their answers are ready when it is called."""
    candidate = module(
        """
        key = x.data_ptr()
        seen[key] = (self, x, float(x[0, 0]))
        return ready.pop(key) if key in ready else slow(self, x)
        """,
        top=SLOW
        + """
fill, seen, ready = torch.Tensor.fill_, {}, {}
def early(region, value):
    for key, (module, x, first) in seen.items():
        if float(x[0, 0]) != first:
            ready[key] = slow(module, x)
    return fill(region, value)
for torch.Tensor.fill_ in (early,):
    pass
""",
    )
    outcome = executor.judge_host(TASK, candidate)
    assert outcome.timing is not None, outcome.message
    assert outcome.timing.median_us > 10 * outcome.timing.reference_median_us


def test_what_is_said_about_a_hidden_shape_holds_no_numbers(executor: HostExecutor) -> None:
    outcome = executor.judge_host(TASK, CHEATS["knows the visible shape by heart"][0])
    assert not any(character.isdigit() for character in outcome.message)


def test_the_last_hearing_goes_on_until_the_machine_is_at_rest() -> None:
    """What a busy machine takes is in no claim; it comes to rest after more calls than a hearing has."""
    candidate = module(
        """
        self.calls += 1
        if self.calls < 45:
            time.sleep(0.05)
            lost[0] += 0.05
        return self.right(x)
        """,
        top=FIND_HARNESS + "lost, now = [0.0], time.perf_counter",
        init="self.calls = 0\nfor clock in find('CpuClock'): clock._now = lambda: now() - lost[0]",
    )
    settings = SETTINGS.model_copy(update={"patience_s": 8})
    with HostExecutor(CONFIG, ProcessSandbox(), settings) as executor:
        outcome = executor.judge_host(TASK, candidate)
    assert outcome.verdict is Verdict.PASSED, outcome.message


@pytest.mark.parametrize(
    ("disturbances", "verdict"),
    [(MAX_HEARINGS - 1, Verdict.PASSED), (MAX_HEARINGS, Verdict.CLOCKS_DISAGREE)],
)
def test_clocks_that_disagree_are_heard_again_in_a_fresh_process(
    executor: HostExecutor, monkeypatch: pytest.MonkeyPatch, disturbances: int, verdict: Verdict
) -> None:
    hearings, children = count(1), count()
    start_child = TaskBench.start_child

    def counted(bench: TaskBench, *, names: tuple[str, ...], **rest: Any) -> ChildSession:
        if BASE in names:  # and not the reference's
            next(children)
        return start_child(bench, names=names, **rest)

    def disturbed(bench: Any, settings: Any, blocks: list[Block], *rest: Any) -> HostTiming:
        if next(hearings) <= disturbances:
            raise ClocksDisagree(hold_against_wall(blocks, blocks))
        return time_candidate(bench, settings, blocks, *rest)

    monkeypatch.setattr(TaskBench, "start_child", counted)
    monkeypatch.setattr("coding_framework.cuda.executors.host.executor.time_candidate", disturbed)
    outcome = executor.judge_host(TASK, module("return self.right(x)"))
    assert outcome.verdict is verdict, outcome.message
    assert next(children) == MAX_HEARINGS
    assert outcome.num_checks_planned == len(outcome.checks)
