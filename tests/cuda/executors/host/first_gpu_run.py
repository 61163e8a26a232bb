"""The first thing to run on a new GPU: each step says what it does; the first failure names its cause.

    PYTHONPATH=src:tests/cuda/executors/host python tests/cuda/executors/host/first_gpu_run.py
    ... --sandbox process --only honest --rows rows.jsonl --limit 5
    ... --isolation none      where CUDA IPC does not cross the sandbox's namespaces

Steps: exchange memory between two processes inside the sandbox; honest candidates with all their
figures; cheats with the verdict that is expected; rows of the archive where a file is given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from host_gpu_sources import CHEATS, HONEST, RELU_TASK

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.bench import BASE, TaskBench
from coding_framework.cuda.executors.host.executor import HostExecutor
from coding_framework.cuda.executors.host.outcome import HostOutcome, HostSettings
from coding_framework.cuda.sandbox.process import ProcessSandbox
from coding_framework.errors import FrameworkError
from coding_framework.records import Candidate, ModuleTask


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def figures(outcome: HostOutcome) -> str:
    timing = outcome.timing
    numbers = ""
    if timing is not None:
        numbers = (
            f"\n    median {timing.median_us:.2f} us {tuple(round(v, 2) for v in timing.interval_us)}"
            f" claimed {timing.claimed_us:.2f} wall {timing.wall_us:.2f} left {timing.left_us:.2f}"
            f" overhead {timing.overhead_us:.2f}"
            f" reference {timing.reference_median_us:.2f} floor {timing.floor_us or 0:.2f}"
            f" own share {timing.own_kernel_share} others {timing.other_references_us}"
        )
    stages = {name: round(seconds, 2) for name, seconds in outcome.gate_seconds.items()}
    worst = max((check.max_error_ratio or 0 for check in outcome.checks), default=0)
    return (
        f"{outcome.verdict}: {outcome.message}{numbers}\n    {stages} worst error {worst:.3g} {outcome.notes}"
    )


def try_memory(executor: HostExecutor) -> None:
    """A child in the sandbox opens the verifier's memory; nothing is loaded into it."""
    bench: TaskBench = executor._bench_for(RELU_TASK)
    card = bench.base.card
    assert card is not None
    say(
        f"  {card.name}, peak {card.dram_bytes_per_us / 1e6:.2f} TB/s, "
        f"{bench.base.layout.num_sets} sets of {bench.base.layout.set_bytes / 2**20:.0f} MiB, "
        f"distributions {bench.base.distributions}"
    )
    started = time.perf_counter()
    bench.start_child(wall_s=120, names=(BASE,)).close()
    say(f"  a child was started, opened the memory and ended in {time.perf_counter() - started:.1f} s")
    for _ in range(3):
        block = bench.reference_block()
        say(
            f"  reference block: wall {sum(block.wall_us):.0f} us, "
            f"overhead {statistics.median(block.beside_us):.1f} us, "
            f"calls {[round(value, 1) for value in block.claimed_us]}"
        )


def judge(executor: HostExecutor, name: str, task: ModuleTask, candidate: Candidate, wanted: str) -> bool:
    started = time.perf_counter()
    try:
        outcome = executor.judge_host(task, candidate)
    except FrameworkError as error:
        say(f"[FAULT] {name}: {type(error).__name__}: {error}")
        return False
    good = outcome.verdict.value in wanted.split("|")
    mark = "ok" if good else f"NOT AS WANTED ({wanted})"
    say(f"[{mark}] {name} ({time.perf_counter() - started:.1f} s)\n    {figures(outcome)}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sandbox", default="process")
    parser.add_argument("--isolation", choices=["user", "root", "none"], help="of the process sandbox")
    parser.add_argument("--only", choices=["memory", "honest", "cheats", "rows"], default=None)
    parser.add_argument("--rows", type=Path, default=None)
    parser.add_argument("--limit", type=int, default=6)
    parser.add_argument("--compiled", action="store_true", help="also time torch.compile of the reference")
    options = parser.parse_args()
    config = JudgeConfig(sandbox=options.sandbox, architecture="auto", run_timeout_s=5)
    good = True
    sandbox = ProcessSandbox(options.isolation) if options.isolation else None
    with HostExecutor(config, sandbox, HostSettings(compiled_reference=options.compiled)) as executor:
        wanted = {options.only} if options.only else {"memory", "honest", "cheats", "rows"}
        if "memory" in wanted:
            say("exchange memory:")
            try_memory(executor)
        if "honest" in wanted:
            for name, (task, candidate) in HONEST.items():
                good &= judge(executor, name, task, candidate, "passed")
            name, (task, candidate) = next(iter(HONEST.items()))
            good &= judge(executor, f"{name}, again", task, candidate, "passed")
        if "cheats" in wanted:
            for name, (task, candidate, verdicts) in CHEATS.items():
                good &= judge(executor, name, task, candidate, "|".join(sorted(verdicts)))
        if "rows" in wanted and options.rows is not None:
            good &= judge_rows(executor, options.rows, options.limit)
    say("all as wanted" if good else "something is not as wanted")
    return 0 if good else 1


def judge_rows(executor: HostExecutor, path: Path, limit: int) -> bool:
    """Correct rows of the archive, by operation, because the bench is kept for a task."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    good = True
    for operation in dict.fromkeys(row["Op_Name"] for row in rows):
        correct = [row for row in rows if row["Op_Name"] == operation and row["Correct"]]
        for row in correct[:limit]:
            task = ModuleTask(name=operation, source=row["PyTorch_Code_Module"])
            candidate = Candidate(source=row["CUDA_Code"], contract="extension")
            good &= judge(executor, f"{operation}/{row['Kernel_Name']}", task, candidate, "passed")
    return good


if __name__ == "__main__":
    sys.exit(main())
