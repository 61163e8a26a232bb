"""Kill a training with SIGKILL at random moments, resume it, and compare with one that was left alone.

    PYTHONPATH=tests python tests/training/endurance.py sft --kills 10 --seed 1
    PYTHONPATH=tests python tests/training/endurance.py rl --kills 10 --seed 1
    PYTHONPATH=tests python tests/training/endurance.py rl --variant ppo --kills 3 --steps 8 --set rl.epochs=2

Each run is `cuda-rl train` in a process group of its own on a model of a few thousand weights. A kill
hits the whole group at a moment that is drawn from the seed: mostly somewhere in the steps, sometimes
before the first of them or in the evaluation. Checked are: the numbers of every step, that every step
and every conversation stands in the run folder once and is the one of the uninterrupted run, and that
no process of a killed start outlives it. A training that records nothing for ten minutes is ended and told.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kernel_words_model import write_kernel_words_model

from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.rl.supervisor import descendants
from tiny_model import write_tiny_model

Phase = Literal["sft", "rl"]
TASK = "vector_add"
TOLERANCE = 1e-5
_START_S = 600.0
"""The longest that a start, a step or an end may take."""
_ORDERLY = {
    "sft": ("loss", "learning_rate"),
    "rl": (
        "reward_mean",
        "reward_std",
        "pass_rate",
        "policy_loss",
        "grad_norm",
        "turns_sampled",
        "turns_used",
        "new_tokens",
        "episodes",
        "episodes_lost",
        *("groups_drawn", "groups_thrown_away", "overlong_penalty", "value_loss", "value_explained"),
        "curriculum_tier",
        "learnability_mean",
    ),
}
"""What does not tell the time."""
_COMMON = (
    "judge.workers=1",
    "conversation.max_turns=2",
    "evaluation.samples_per_task=2",
    "evaluation.include_train_tasks=false",
    f'tasks.train=["{TASK}", "matvec"]',
    'tasks.held_out=["scale", "gelu"]',
)
_SETTINGS: dict[str, tuple[str, ...]] = {
    "sft": (
        *("rl.enabled=false", "sft.pairs=12", "sft.batch_size=2", "sft.checkpoint_every=7"),
        *("sft.max_length=2600", "conversation.max_response_tokens=24"),
    ),
    "rl": (
        *("sft.enabled=false", "rl.prompts_per_step=2", "rl.group_size=4", "rl.save_every=2"),
        *("rl.learning_rate=1e-2", "rl.lora_rank=4", "conversation.early_stop_reward=0.5"),
        *("conversation.max_prompt_tokens=512", "conversation.max_response_tokens=16"),
        *("curriculum.enabled=true", "curriculum.window=20", "curriculum.demotion_window=10"),
        "curriculum.tiers=["
        '{name="easy", catalogue_tiers=[0], min_compile_rate=0.1, min_success_rate=0.1, min_episodes=44}, '
        '{name="hard", catalogue_tiers=[1], min_compile_rate=0.1, min_success_rate=0.1}]',
    ),
}
VARIANTS: dict[str, tuple[str, ...]] = {
    "grpo": (),
    "dapo": ("rl.algorithm=dapo",),
    "ppo": ("rl.algorithm=ppo",),
    "per_agent": ("rl.adapters=per_agent", "evaluation.max_turns=2"),
}
"""Other ways of RL; with a policy for each agent there are twice the steps."""
STEPS: dict[str, int] = {"sft": 60, "rl": 16}
Curve = dict[int, dict[str, float]]


@dataclass
class Outcome:
    """What became of a run that was killed again and again."""

    kills: list[str] = field(default_factory=list)
    """Where each one hit."""
    largest_difference: float = 0.0
    """Of any number of any step to the uninterrupted run."""


def options(phase: Phase, folder: Path, steps: int, more: Sequence[str] = ()) -> list[str]:
    model = folder / "model"
    if not model.exists():
        if phase == "rl":
            write_kernel_words_model(model, TASK)
        else:
            write_tiny_model(model, context=4096)
    settings = (*_COMMON, *_SETTINGS[phase], f"{phase}.steps={steps}", f"model.name={model}", *more)
    return [f"--set={setting}" for setting in settings]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """`cuda-rl train` in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "coding_framework.cli.main", "train", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=_log_of(folder).open("a"),
        text=True,
        start_new_session=True,
    )


def _log_of(folder: Path) -> Path:
    """Beside the folder, which may be a disk that is full."""
    return folder.with_name(f"{folder.name}.log")


def fresh(phase: Phase, folder: Path, steps: int, more: Sequence[str] = ()) -> subprocess.Popen[str]:
    return start(folder, "--config", "quick", *options(phase, folder, steps, more))


def last_step(steps: int, more: Sequence[str]) -> int:
    return 2 * steps if "rl.adapters=per_agent" in more else steps


def run_folder(folder: Path) -> RunFolder | None:
    found = sorted(folder.glob("runs/*/state.json"))
    return RunFolder.open(found[0].parent) if found else None


def wait_for(folder: Path, process: subprocess.Popen[str], code: int = 0) -> str:
    """Until the training has ended with this code; what it wrote to standard error."""
    wait_until(process, lambda: False)
    ended, text = process.returncode, _log_of(folder).read_text()
    assert ended == code, f"{folder}: ended with {ended}: {text[-3000:]}"
    return text


def curve(run: RunFolder, phase: Phase) -> Curve:
    """Every step, which must stand there once."""
    points = [point for point in run.read_metrics() if point.phase == phase]
    twice = [step for step, count in Counter(point.step for point in points).items() if count > 1]
    assert not twice, f"recorded more than once: {twice}"
    return {
        point.step: {name: point.values[name] for name in _ORDERLY[phase] if name in point.values}
        for point in points
    }


def conversations(run: RunFolder) -> Counter[str]:
    """With their tasks."""
    return Counter(f"{one.conversation_id} on {one.task}" for one in run.read_conversations())


def largest_difference(left: Curve, right: Curve) -> float:
    assert sorted(left) == sorted(right), f"steps {sorted(left)} and {sorted(right)}"
    for step in left:
        assert left[step].keys() == right[step].keys(), f"step {step} tells of other things"
    return max(abs(left[step][name] - right[step][name]) for step in left for name in left[step])


def alive(pids: Sequence[int]) -> list[int]:
    """Those that still run; one that waits to be reaped does not."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def pid_of(title: str, process: subprocess.Popen[str]) -> int:
    """Ray names its processes after what they are."""
    lines = {
        pid: Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        for pid in descendants(process.pid)
    }
    matching = [pid for pid, line in lines.items() if title in line]
    assert len(matching) == 1, f"{title} among {sorted(lines.values())}"
    return matching[0]


def kill(process: subprocess.Popen[str]) -> None:
    """The whole group at once; what has a group of its own, as verl's processes have, must notice."""
    started = descendants(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 30
    while left := alive(started):
        assert time.monotonic() < deadline, f"processes {left} outlived their launcher"
        time.sleep(0.1)


def steps_done(folder: Path, phase: Phase) -> int:
    run = run_folder(folder)
    if run is None:
        return 0
    return max((point.step for point in run.read_metrics() if point.phase == phase), default=0)


def evaluations_done(folder: Path) -> int:
    run = run_folder(folder)
    return 0 if run is None else sum(one.phase == "evaluation" for one in run.read_conversations())


@dataclass(frozen=True)
class Alone:
    """The uninterrupted run."""

    run: RunFolder
    seconds_before: float
    """Until its first step was recorded."""
    seconds_of_a_step: float


def uninterrupted(phase: Phase, folder: Path, steps: int, more: Sequence[str] = ()) -> Alone:
    folder.mkdir()
    begin, total = time.monotonic(), last_step(steps, more)
    process = fresh(phase, folder, steps, more)
    first = wait_for_step(process, folder, phase, 1)
    last = wait_for_step(process, folder, phase, total)
    wait_for(folder, process)
    run = run_folder(folder)
    assert run is not None
    return Alone(run, first - begin, (last - first) / max(1, total - 1))


def wait_until(
    process: subprocess.Popen[str], condition: Callable[[], bool], limit_s: float = _START_S
) -> float:
    """When it holds, or the process has ended. One that takes longer than the limit is killed."""
    deadline = time.monotonic() + limit_s
    while process.poll() is None and not condition():
        if time.monotonic() > deadline:
            kill(process)
            raise AssertionError(f"nothing came of process {process.pid} within {limit_s:.0f} s")
        time.sleep(0.02)
    return time.monotonic()


def wait_for_step(process: subprocess.Popen[str], folder: Path, phase: Phase, step: int) -> float:
    """The limit holds for each step."""
    now = time.monotonic()
    for one in range(1, step + 1):
        now = wait_until(process, lambda one=one: steps_done(folder, phase) >= one)  # type: ignore[misc]
    return now


def killed_and_resumed(
    phase: Phase, folder: Path, steps: int, kills: int, seed: int, more: Sequence[str] = ()
) -> Outcome:
    """Kill until it was killed so often, or all steps are done; let it end, and compare.

    A run that was not killed often enough is followed by a new one.
    """
    chance = random.Random(seed)
    alone = uninterrupted(phase, folder / "alone", steps, more)
    say(f"alone: first step after {alone.seconds_before:.1f} s, {alone.seconds_of_a_step:.2f} s a step")
    outcome, number = Outcome(), 0
    while len(outcome.kills) < kills:
        number += 1
        one = folder / f"killed{number}"
        one.mkdir()
        # The model's path is a part of the settings that a run is recognised by.
        (one / "model").symlink_to(folder / "alone" / "model")
        _kill_often(phase, one, steps, kills, alone, chance, outcome, more)
        run = run_folder(one)
        assert run is not None
        difference = compare(phase, alone.run, run)
        outcome.largest_difference = max(outcome.largest_difference, difference)
        say(f"run {number}: largest difference {difference:g}")
    return outcome


def compare(phase: Phase, alone: RunFolder, run: RunFolder) -> float:
    difference = largest_difference(curve(alone, phase), curve(run, phase))
    assert difference <= TOLERANCE, f"the curve of {run.path} differs by {difference} from {alone.path}"
    told, expected = conversations(run), conversations(alone)
    doubled = [name for name, count in told.items() if count > 1]
    assert not doubled, f"conversations stand twice in {run.path}: {doubled}"
    assert told == expected, f"other conversations: {told - expected}, {expected - told}"
    return difference


def _kill_often(
    phase: Phase,
    folder: Path,
    steps: int,
    kills: int,
    alone: Alone,
    chance: random.Random,
    outcome: Outcome,
    more: Sequence[str],
) -> None:
    process, total = fresh(phase, folder, steps, more), last_step(steps, more)
    while len(outcome.kills) < kills and steps_done(folder, phase) < total:
        where = _wait_for_the_moment(phase, folder, total, process, alone, chance)
        if process.poll() is not None:
            break
        kill(process)
        outcome.kills.append(where)
        say(f"kill {len(outcome.kills)}: {where}")
        run = run_folder(folder)
        if run is None:
            process = fresh(phase, folder, steps, more)
        else:
            process = start(folder, "--resume", str(run.path))
    wait_for_step(process, folder, phase, total)
    wait_for(folder, process)


def _wait_for_the_moment(
    phase: Phase,
    folder: Path,
    steps: int,
    process: subprocess.Popen[str],
    alone: Alone,
    chance: random.Random,
) -> str:
    """Somewhere in the steps that are left, else before them or in the evaluation; says where."""
    done = steps_done(folder, phase)
    kind = chance.choices(("steps", "start", "evaluation"), (8, 1, 1))[0]
    if kind == "evaluation":
        wait_until(process, lambda: evaluations_done(folder) > 0)
        return f"in the evaluation, after {evaluations_done(folder)} conversations"
    if kind == "start":
        # From the moment on that there is a run: the first thing that it does is to judge pairs.
        wait_until(process, lambda: run_folder(folder) is not None)
        seconds = chance.uniform(0, alone.seconds_before / 2)
        begin = time.monotonic()
        wait_until(process, lambda: time.monotonic() > begin + seconds)
        made = "with" if list(folder.glob("runs/*/sft/pairs.parquet")) else "without"
        return (
            f"{seconds:.1f} s after the start, {made} pairs, {steps_done(folder, phase)} steps were recorded"
        )
    target = chance.randrange(done, steps)
    wait_for_step(process, folder, phase, max(1, target))
    seconds = chance.uniform(0, alone.seconds_of_a_step)
    time.sleep(seconds)
    return f"{seconds:.2f} s after step {target}, {steps_done(folder, phase)} steps were recorded"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phase", choices=sorted(STEPS))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="grpo")
    parser.add_argument("--set", action="append", default=[], dest="more", metavar="KEY=VALUE")
    given = parser.parse_args()
    more = (*VARIANTS[given.variant], *given.more)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    say(f"seed {seed}, {given.variant}")
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        steps = given.steps or STEPS[given.phase]
        outcome = killed_and_resumed(given.phase, Path(folder), steps, given.kills, seed, more)
    say(json.dumps({"kills": len(outcome.kills), "largest_difference": outcome.largest_difference}))


if __name__ == "__main__":
    main()
