"""The one place where messages become token ids, for sampling and for training alike.

Training on other ids than those sampled from is a silent loss of quality: both sides call this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coding_framework.records import Message


def prompt_token_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Ids of the whole prompt, up to and including the words that open the answer."""
    chat = [{"role": message.role, "content": message.content} for message in messages]
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=True, return_dict=False)
    return [int(token) for token in ids]


def answer_token_ids(tokenizer: Any, answer: str) -> list[int]:
    """Ids of an answer as the model should sample it: the words, then the end token."""
    ids = tokenizer(answer, add_special_tokens=False).input_ids
    return [*(int(token) for token in ids), int(tokenizer.eos_token_id)]
