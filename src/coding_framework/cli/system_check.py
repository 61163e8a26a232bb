"""Every component for real: each check uses the thing itself and says what it saw.

A check passes, fails, or is not available here (`NotAvailableError`, with the reason); nothing is
simulated to make it pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from coding_framework.errors import FrameworkError, ModelNotFoundError, NotAvailableError
from coding_framework.records import Record

Check = Callable[[], str]


class ComponentResult(Record):
    """One line of the answer."""

    component: str
    """What was checked."""
    status: Literal["passed", "failed", "not available"]
    """How it went."""
    detail: str
    """What was seen, or why not."""
    seconds: float
    """How long it took."""


class SystemReport(Record):
    """All lines."""

    results: tuple[ComponentResult, ...]
    """In the order of the flow."""

    @property
    def summary(self) -> str:
        counts = {status: sum(r.status == status for r in self.results) for status in ("passed", "failed")}
        missing = len(self.results) - sum(counts.values())
        return f"{counts['passed']} passed, {counts['failed']} failed, {missing} not available here"


def check_system(on_result: Callable[[ComponentResult], None] = lambda _: None) -> SystemReport:
    """Run every check in turn."""
    results = []
    for name, check in CHECKS.items():
        results.append(_run(name, check))
        on_result(results[-1])
    return SystemReport(results=tuple(results))


def _run(name: str, check: Check) -> ComponentResult:
    start = time.monotonic()
    status: Literal["passed", "failed", "not available"] = "passed"
    try:
        detail = check()
    except (NotAvailableError, ModelNotFoundError) as error:
        status, detail = "not available", str(error)
    except FrameworkError as error:
        status, detail = "failed", str(error)
    except Exception as error:  # a check that breaks is a finding, not the end of the others
        status, detail = "failed", f"{type(error).__name__}: {error}"
    return ComponentResult(component=name, status=status, detail=detail, seconds=time.monotonic() - start)


def _compiler() -> str:
    from coding_framework.cuda.compiler import CUDACompiler
    from coding_framework.data.tasks import get_task

    with CUDACompiler() as compiler:
        result = asyncio.run(compiler.compile_kernel(get_task("matmul").baseline))
        broken = compiler.compile('extern "C" __global__ void k(float* y) { y[0] = ; }')
    _require(result.success, f"the naive matmul does not compile: {result.errors}")
    _require(bool(broken.errors), "a syntax error was not reported")
    registers = result.resources[0].registers
    return f"{result.compiler} {result.toolkit} for {result.architecture}; {registers} registers"


def _nvcc() -> str:
    from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
    from coding_framework.data.tasks import get_task

    with CUDACompiler(CompilerSettings(compiler="nvcc", architecture="sm_90")) as compiler:
        result = compiler.compile(get_task("vector_add").baseline)
    _require(result.success, f"nvcc rejected the naive vector add: {result.errors}")
    return f"nvcc {result.toolkit}"


def _workers() -> str:
    from coding_framework.cuda.worker import Worker
    from coding_framework.errors import WorkerDied, WorkerOutOfMemory, WorkerTimeout

    probes = "coding_framework.cuda.worker_probes:"
    trials: list[tuple[type[FrameworkError], str, tuple[object, ...], float]] = [
        (WorkerTimeout, "sleep", (30.0,), 0.5),
        (WorkerOutOfMemory, "allocate", (2**31,), 20),
        (WorkerDied, "leave", (), 20),
    ]
    with Worker(memory_limit_bytes=2**30, name="system check") as worker:
        for expected, probe, arguments, limit_s in trials:
            with contextlib.suppress(expected):
                worker.call(probes + probe, *arguments, timeout_s=limit_s)
                raise AssertionError(f"a worker that should have failed ({probe}) answered")
            answer = worker.call(probes + "echo", probe, timeout_s=20)
            _require(answer == probe, f"after '{probe}' a worker answered {answer}")
    return "held to time and memory, and replaced after each death"


def _judge() -> str:
    from coding_framework.cuda.pool import JudgePool
    from coding_framework.data.tasks import all_tasks, get_task
    from coding_framework.records import Candidate, Verdict

    scale = get_task("scale")
    wrong = Candidate(source=scale.baseline.replace("2.5f", "2.4f"))
    one_a_tier = {task.tier: task for task in all_tasks()}.values()
    with JudgePool() as pool:
        verdicts = pool.judge_many([(task, Candidate(source=task.baseline)) for task in one_a_tier])
        rejected = pool.judge(scale, wrong)
    failed = [f"{e.task}: {e.message}" for e in verdicts if not e.passed]
    _require(not failed, "; ".join(failed))
    _require(rejected.verdict is Verdict.WRONG_RESULT, f"a wrong kernel was judged {rejected.verdict}")
    return f"{len(verdicts)} baselines passed, a wrong kernel was rejected"


def _benchmarker() -> str:
    from coding_framework.cuda.benchmarker import CUDABenchmarker
    from coding_framework.cuda.compiler import CUDACompiler
    from coding_framework.data.tasks import get_task

    with CUDACompiler() as compiler, CUDABenchmarker() as benchmarker:
        result = compiler.compile(get_task("vector_add").baseline)
        _require(result.binary_path is not None, "no binary")
        assert result.binary_path is not None
        timing = asyncio.run(benchmarker.benchmark_kernel(result.binary_path, result.kernel_name))
    return f"vector add: {timing.median_us:.2f} us ({timing.kind}, {timing.device})"


def _conversation() -> str:
    from coding_framework.config import ConversationConfig
    from coding_framework.cuda.pool import JudgePool
    from coding_framework.data.tasks import get_task, variants
    from coding_framework.records import Generation, GenerationRequest
    from coding_framework.training.multi_turn_conversation import MultiTurnConversationManager

    task = get_task("row_sum")
    answers = [task.baseline.replace("__global__", "__globl__"), task.baseline, variants("row_sum")[0].source]

    async def recite(request: GenerationRequest) -> Generation:
        return Generation(text=f"```cuda\n{answers.pop(0)}\n```")

    with JudgePool() as pool:
        manager = MultiTurnConversationManager(
            ConversationConfig(max_turns=3, early_stop_reward=1.0), judge=pool.judge_async
        )
        conversation = asyncio.run(manager.run_conversation(task, recite))
    rewards = [turn.reward.total for turn in conversation.turns]
    _require(rewards == sorted(rewards), f"rewards do not rise with better answers: {rewards}")
    return "rewards " + " → ".join(f"{reward:.2f}" for reward in rewards)


def _model() -> str:
    from coding_framework.agents.models.chat_model import SamplingSettings, TransformersChatModel
    from coding_framework.agents.models.store import DEFAULT_MODEL
    from coding_framework.agents.prompts import generator_messages
    from coding_framework.data.tasks import get_task
    from coding_framework.records import GenerationRequest

    model = TransformersChatModel.from_pretrained(DEFAULT_MODEL, settings=SamplingSettings(temperature=0))
    request = GenerationRequest(
        agent="generator", messages=generator_messages(get_task("scale")), max_tokens=24
    )
    answer = asyncio.run(model.generate(request))
    _require(len(answer.token_ids) > 0, "the model said nothing")
    return f"{DEFAULT_MODEL}: {len(answer.prompt_token_ids)} tokens in, {len(answer.token_ids)} out"


def _sft() -> str:
    from coding_framework.agents.models.store import DEFAULT_MODEL, resolve_model
    from coding_framework.agents.prompts import generator_messages, optimizer_messages
    from coding_framework.config import JudgeConfig, SFTConfig
    from coding_framework.data.pairs.workshop import open_workshop
    from coding_framework.training.sft.results import SFTStep
    from coding_framework.training.sft.trainer import run_sft

    model = resolve_model(DEFAULT_MODEL)
    with open_workshop(
        JudgeConfig(),
        (),
        ("scale",),
        1,
        generator_messages,
        lambda task, source, evaluation: optimizer_messages(task, evaluation, None),
    ) as workshop:
        pairs = workshop.make(workshop.wanted(SFTConfig(pairs=4))).pairs
    steps: list[SFTStep] = []
    with tempfile.TemporaryDirectory() as folder:
        config = SFTConfig(steps=3, warmup_steps=0)
        run_sft(pairs, config, model, Path(folder), seed=1, on_step=steps.append)
    _require(steps[-1].loss < steps[0].loss, f"the loss did not fall: {[s.loss for s in steps]}")
    return f"{len(pairs)} judged pairs, loss {steps[0].loss:.2f} → {steps[-1].loss:.2f} in {len(steps)} steps"


def _verl() -> str:
    from importlib.util import find_spec

    from coding_framework.errors import MissingExtraError

    for package in ("verl", "ray"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "verl")
    from importlib.metadata import version

    from coding_framework.training.rl.names import COMMON_PLUGINS, CPU_PLUGINS

    plugins = (*CPU_PLUGINS, *COMMON_PLUGINS)
    environment = os.environ | {"VERL_USE_EXTERNAL_MODULES": ",".join(plugins), "VERL_PLATFORM": "cpu"}
    code = "import verl; from verl.utils.device import get_device_name; print(get_device_name())"
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    device = answer.stdout.strip().splitlines()[-1:]
    _require(device == ["cpu"], f"verl did not take the CPU platform: {answer.stderr[-300:]}")
    return f"verl {version('verl')} on ray {version('ray')} runs on the CPU with {len(plugins)} plug-ins"


def _report() -> str:
    from coding_framework.config import load_config
    from coding_framework.monitoring.report import write_report
    from coding_framework.monitoring.run_folder import RunFolder
    from coding_framework.monitoring.run_state import MetricPoint

    # The working folder's logs/training.log follows the latest run: this one is not worth following.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run = RunFolder.create(Path(folder), "check", load_config().model_dump_json())
        run.append_metric(MetricPoint(phase="sft", step=0, values={"loss": 1.0}, elapsed_s=0.0))
        size = write_report(run).stat().st_size
    return f"report.html of {size:,} bytes"


def _gpu() -> str:
    from coding_framework.cuda.toolchain.detect import find_gpus

    _, gpus, reason = find_gpus()
    if not gpus:
        raise NotAvailableError(reason)
    return ", ".join(gpu.name for gpu in gpus)


def _docker() -> str:
    from coding_framework.cli.machine import inspect_docker

    item = inspect_docker()
    if not item.present:
        raise NotAvailableError(item.detail)
    return f"engine {item.detail}"


def _tools() -> str:
    missing = [tool for tool in ("make", "git") if shutil.which(tool) is None]
    if missing:
        raise NotAvailableError(f"no {', '.join(missing)} on the path")
    return "make, git"


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise AssertionError(complaint)


CHECKS: dict[str, Check] = {
    "tools": _tools,
    "compiler (NVRTC)": _compiler,
    "compiler (nvcc)": _nvcc,
    "worker processes": _workers,
    "judge and emulator": _judge,
    "benchmarker": _benchmarker,
    "conversation and reward": _conversation,
    "model": _model,
    "SFT": _sft,
    "verl plug-ins": _verl,
    "run folder and report": _report,
    "GPU": _gpu,
    "Docker": _docker,
}
