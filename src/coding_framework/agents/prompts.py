"""What the agents are asked. Short on purpose: every token is paid for in every rollout."""

from __future__ import annotations

from coding_framework.records import AgentRole, Evaluation, Message, Task

SYSTEM = (
    "You write fast, correct CUDA kernels. Answer with one ```cuda code block and nothing else. "
    'It holds a launch line, then an extern "C" __global__ function. No host code, no main. '
    "Launch line: // launch: NAME grid=(...) block=(...)  with integers, dimension names, "
    "ceil_div(a, b), min and max. The arguments are the inputs, the outputs and the dimensions, in order. "
    "At most 1024 threads a block. Sizes need not be multiples of the block."
)
MAX_QUOTED_SOURCE_CHARS = 2400


def generator_messages(task: Task) -> tuple[Message, ...]:
    """The first turn: write a kernel for the task."""
    return (Message(role="system", content=SYSTEM), Message(role="user", content=_describe(task)))


def optimizer_messages(task: Task, last: Evaluation, best: Evaluation | None) -> tuple[Message, ...]:
    """A later turn: repair what failed, or make faster what passed."""
    shown = best or last
    parts = [_describe(task)]
    if shown.candidate is not None:
        parts.append(f"Your kernel:\n```cuda\n{_shorten(shown.candidate.source.strip())}\n```")
    parts.append(f"The judge says: {shown.message}")
    if shown is not last:
        parts.append(f"A later attempt was worse: {last.message}")
    parts.append("Write it faster." if shown.passed else "Write it correctly.")
    content = "\n\n".join(parts)
    return (Message(role="system", content=SYSTEM), Message(role="user", content=content))


def turn_agent(index: int) -> AgentRole:
    """Who speaks at this turn: the generator opens, the optimizer follows."""
    return "generator" if index == 0 else "optimizer"


def _describe(task: Task) -> str:
    return f"{task.prompt.strip()}\nDimensions (int): {', '.join(task.dimensions)}."


def _shorten(source: str) -> str:
    if len(source) <= MAX_QUOTED_SOURCE_CHARS:
        return source
    return source[:MAX_QUOTED_SOURCE_CHARS] + "\n// … (cut)"
