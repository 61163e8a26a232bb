"""What the agents are asked. Short on purpose: every token is paid for in every rollout.

Guarantees: the same functions serve training pairs, rollouts, evaluation and serving; a prompt takes at
most `MAX_PROMPT_TOKENS` by the estimate of `prompt_budget` (the task and the verdict come first, the
quoted source gets what they leave); nothing is said of hidden shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from coding_framework.agents.feedback import MAX_FEEDBACK_CHARS, feedback, shorten
from coding_framework.agents.prompt_budget import (
    MAX_PROMPT_TOKENS,
    TEMPLATE_TOKENS,
    estimated_tokens,
    fit_lines,
)
from coding_framework.agents.strategies import MAX_TRIED_CHARS, StrategyOutcome, tried_words
from coding_framework.agents.system_prompts import (
    GENERATOR_SYSTEM,
    MAX_EXTRA_CASES,
    OPTIMIZER_SYSTEM,
    SYSTEM,
    TESTER_SYSTEM,
)
from coding_framework.records import (
    AgentRole,
    Candidate,
    Contract,
    Evaluation,
    Message,
    ModuleTask,
    Task,
)

__all__ = [
    "MAX_EXTRA_CASES",
    "MAX_FEEDBACK_CHARS",
    "MAX_PROMPT_TOKENS",
    "SYSTEM",
    "default_contract",
    "generator_messages",
    "optimizer_messages",
    "tester_messages",
    "turn_agent",
]

MAX_TASK_TOKENS = 800
"""Of a task's description; a PyTorch module that is longer is shown up to there."""
_MAX_LATER_CHARS = 200
_MIN_FEEDBACK_CHARS = 300
_LANGUAGE = {"kernel": "cuda", "extension": "cuda", "module": "python"}


def default_contract(task: Task | ModuleTask) -> Contract:
    """What an agent is asked for where nobody says otherwise."""
    return task.contract if isinstance(task, ModuleTask) else "kernel"


def generator_messages(task: Task | ModuleTask, contract: Contract | None = None) -> tuple[Message, ...]:
    """The first turn: write a kernel for the task."""
    system = GENERATOR_SYSTEM[contract or default_contract(task)]
    return _messages(system, [_describe(task)])


def optimizer_messages(
    task: Task | ModuleTask,
    last: Evaluation,
    best: Evaluation | None,
    tried: Sequence[StrategyOutcome] = (),
    contract: Contract | None = None,
    *,
    max_tokens: int = MAX_PROMPT_TOKENS,
) -> tuple[Message, ...]:
    """A later turn: repair what failed, or make faster what passed.

    The best kernel so far is shown, or the last one while none has passed. Below the usual `max_tokens`
    the feedback shrinks with it, and the source is cut at a line sooner.
    """
    shown = best or last
    candidate = shown.candidate
    wanted = contract or (candidate.contract if candidate is not None else default_contract(task))
    before = [_describe(task)]
    share = min(1.0, max_tokens / MAX_PROMPT_TOKENS)
    max_chars = max(_MIN_FEEDBACK_CHARS, int(share * MAX_FEEDBACK_CHARS))
    after = [f"The judge says: {feedback(task, shown, max_chars=max_chars)}"]
    if shown != last:  # not `is`: a conversation may have been read back
        after.append(f"A later attempt was worse: {feedback(task, last, max_chars=_MAX_LATER_CHARS)}")
    if tried:
        after.append(tried_words(tried, max_chars=int(share * MAX_TRIED_CHARS)))
    after.append("Write it faster." if shown.passed else "Write it correctly.")
    told = [part for part in after if part]
    return _messages(OPTIMIZER_SYSTEM[wanted], before, candidate, told, max_tokens=max_tokens)


def tester_messages(task: Task | ModuleTask, candidate: Candidate) -> tuple[Message, ...]:
    """Ask for inputs on which this candidate may fail."""
    return _messages(TESTER_SYSTEM, [_describe(task), _input_words(task)], candidate)


def turn_agent(index: int) -> AgentRole:
    """Who speaks at this turn: the generator opens, the optimizer follows."""
    return "generator" if index == 0 else "optimizer"


def _messages(
    system: str,
    before: Sequence[str],
    candidate: Candidate | None = None,
    after: Sequence[str] = (),
    *,
    max_tokens: int = MAX_PROMPT_TOKENS,
) -> tuple[Message, ...]:
    parts = list(before)
    if candidate is not None:
        others = sum(estimated_tokens(part) for part in (system, *before, *after)) + TEMPLATE_TOKENS
        parts.append(_quote(candidate, max_tokens - others - 2 * len(after)))
    content = "\n\n".join([*parts, *after])
    return (Message(role="system", content=system), Message(role="user", content=content))


def _quote(candidate: Candidate, max_tokens: int) -> str:
    frame = "Your kernel:\n```{}\n{}\n```"
    room = max_tokens - estimated_tokens(frame)
    note = "# … ({} lines left out)" if candidate.contract == "module" else "// … ({} lines left out)"
    return frame.format(_LANGUAGE[candidate.contract], fit_lines(candidate.source.strip(), room, note))


def _describe(task: Task | ModuleTask) -> str:
    if isinstance(task, ModuleTask):
        source = fit_lines(task.source.strip(), MAX_TASK_TOKENS, "# … ({} lines left out)")
        return f"Compute what this module computes:\n```python\n{source}\n```"
    prompt = shorten(task.prompt.strip(), 2 * MAX_TASK_TOKENS)
    return f"{prompt}\nDimensions (int): {', '.join(task.dimensions)}."


def _input_words(task: Task | ModuleTask) -> str:
    if isinstance(task, ModuleTask):
        return "Dimensions: the integer constants of the module."
    shapes = "; ".join(
        ", ".join(f"{name}={size}" for name, size in shape.items()) for shape in task.visible_shapes[:2]
    )
    return f"Tested already: {shapes}.\nDistributions: {', '.join(task.distributions)}."
