"""Pairs become token ids, and token ids become batches.

Prompts are tokenised by the function that sampling uses, so the model is trained on exactly the
ids it will see. The order of batches is a pure function of lengths and seed: a resumed run
continues with the batch that comes next.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from coding_framework.agents.models.chat_template import answer_token_ids, prompt_token_ids
from coding_framework.errors import UserError
from coding_framework.training.sft.results import PairLike


class Example(NamedTuple):
    """One tokenised pair."""

    prompt_ids: tuple[int, ...]
    answer_ids: tuple[int, ...]

    @property
    def length(self) -> int:
        return len(self.prompt_ids) + len(self.answer_ids)


def tokenize_pairs(tokenizer: Any, pairs: Sequence[PairLike], max_length: int) -> tuple[list[Example], int]:
    """Examples that fit into `max_length`, and how many did not."""
    examples = [
        Example(
            tuple(prompt_token_ids(tokenizer, pair.messages)),
            tuple(answer_token_ids(tokenizer, pair.answer)),
        )
        for pair in pairs
    ]
    fitting = [example for example in examples if example.length <= max_length]
    if not fitting:
        longest = max((example.length for example in examples), default=0)
        raise UserError(
            f"none of the {len(examples)} pairs fits into sft.max_length={max_length} (longest: {longest})"
        )
    return fitting, len(examples) - len(fitting)


def plan_batches(
    lengths: Sequence[int], batch_size: int, count: int, seed: int, *, by_length: bool = True
) -> list[tuple[int, ...]]:
    """`count` batches of example indices, epoch after epoch.

    By length, neighbours in length share a batch, so almost nothing is padded; which of several equally
    long examples meet, and the order of batches, is shuffled anew in every epoch.
    """
    rng = random.Random(seed)
    batches: list[tuple[int, ...]] = []
    while len(batches) < count:
        order = sorted(range(len(lengths)), key=lambda i: (lengths[i] if by_length else 0, rng.random()))
        epoch = [tuple(order[i : i + batch_size]) for i in range(0, len(order), batch_size)]
        rng.shuffle(epoch)
        batches += epoch
    return batches[:count]


def fingerprint(examples: Sequence[Example], *settings: object) -> str:
    """Equal exactly when a resumed run would go on with the same data and settings."""
    digest = hashlib.sha256(repr(settings).encode())
    for example in examples:
        digest.update(repr(tuple(example)).encode())
    return digest.hexdigest()
