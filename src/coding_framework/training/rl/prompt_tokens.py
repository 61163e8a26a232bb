"""From chat messages to the ids that the model is given.

A prompt over the limit loses tokens in its middle: the task stands at its start, the judge's last
words and the opening of the answer at its end, and neither may be cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coding_framework.records import Message


def prompt_token_ids(tokenizer: Any, messages: Sequence[Message], limit: int) -> list[int]:
    """Ids of the rendered chat, opened for the answer, at most `limit` of them."""
    chat = [{"role": message.role, "content": message.content} for message in messages]
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=True, return_dict=False)
    return cut_middle(list(ids), limit)


def cut_middle(ids: list[int], limit: int) -> list[int]:
    """The first and the last half of the limit, when the whole is longer."""
    if len(ids) <= limit:
        return ids
    head = limit // 2
    return ids[:head] + ids[len(ids) - (limit - head) :]
