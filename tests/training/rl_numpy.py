"""Credit and first losses in plain NumPy, written from the papers and from nothing of the trainer's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coding_framework.training.rl.kept_rows import TrainedRow

Array = np.ndarray


def leave_one_out(rows: Sequence[TrainedRow]) -> list[float]:
    """Of each row: return minus the mean of the others of its task at its turn, in standard deviations."""
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[row.group, row.turn].append(number)
    found = [0.0] * len(rows)
    for members in groups.values():
        returns = np.array([rows[number].turn_return for number in members])
        for place, number in enumerate(members):
            others = np.delete(returns, place)
            if len(others) and returns.std(ddof=1) > 1e-6:
                found[number] = float((returns[place] - others.mean()) / returns.std(ddof=1))
    return found


def gae(row: TrainedRow, decay: float) -> tuple[Array, Array]:
    """(advantages before whitening, returns) of one turn: all of its return comes with the last token."""
    values = np.array(row.values)
    rewards = np.zeros(len(values))
    rewards[-1] = row.turn_return
    errors = rewards + np.append(values[1:], 0.0) - values
    advantages = np.array(
        [sum(decay**k * error for k, error in enumerate(errors[t:])) for t in range(len(errors))]
    )
    return advantages, advantages + values


def whitened(parts: Sequence[Array]) -> list[Array]:
    together = np.concatenate(parts)
    return [(part - together.mean()) / np.sqrt(together.var(ddof=1) + 1e-8) for part in parts]


def policy_log_probs(model: Path, rows: Sequence[TrainedRow], temperature: float) -> list[Array]:
    """Of the sampled tokens, by transformers alone."""
    import torch
    from transformers import AutoModelForCausalLM

    policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    found = []
    for row in rows:
        ids = torch.tensor([[*row.prompt_ids, *row.answer_ids]])
        with torch.no_grad():
            logits = policy(ids).logits[0, len(row.prompt_ids) - 1 : -1].double().numpy() / temperature
        normal = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
        normal -= logits.max(1, keepdims=True)
        found.append(normal[np.arange(len(row.answer_ids)), list(row.answer_ids)])
    return found


def clipped_loss(rows: Sequence[TrainedRow], log_probs: Sequence[Array], low: float, high: float) -> float:
    """Mean over tokens; a hopeless ratio of a bad answer is cut at 3 (dual clip, arXiv 1912.09729)."""
    losses = []
    for row, now in zip(rows, log_probs, strict=True):
        advantages, ratio = np.array(row.advantages), np.exp(now - np.array(row.old_log_probs))
        loss = np.maximum(-advantages * ratio, -advantages * np.clip(ratio, 1 - low, 1 + high))
        losses.append(np.where(advantages < 0, np.minimum(loss, -3 * advantages), loss))
    return float(np.concatenate(losses).mean())


def value_loss(rows: Sequence[TrainedRow]) -> float:
    """Before the first update, when the critic still says what it said."""
    errors = [np.array(row.values) - np.array(row.returns) for row in rows]
    return float(0.5 * (np.concatenate(errors) ** 2).mean())
