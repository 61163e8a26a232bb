"""The two bodies of a chat completion's answer: a completion, or a refusal.

Guarantees: a body that is no completion raises `NotAvailableError`, never a parser's error; words of a
refusal are short and without the key.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from coding_framework.errors import NotAvailableError
from coding_framework.records import Generation

MAX_REFUSAL_CHARS = 300


class _Body(BaseModel):
    """What is read of a body; servers add fields of their own."""

    model_config = ConfigDict(extra="ignore")


class _TokenLogprob(_Body):
    logprob: float


class _Logprobs(_Body):
    content: list[_TokenLogprob] | None = None


class _Message(_Body):
    content: str | None = None


class _Choice(_Body):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: list[int] | None = None


class _Completion(_Body):
    choices: list[_Choice]
    prompt_token_ids: list[int] | None = None


def read_answer(body: str) -> Generation:
    """The first choice. Log-probabilities without ids, or of another number, are of no use and left out.

    They are those that the server counts: for most, of temperature 1.
    """
    try:
        completion = _Completion.model_validate_json(body)
        choice = completion.choices[0]
    except (ValidationError, IndexError):
        raise NotAvailableError(f"the server's answer is no chat completion: {body[:120]!r}") from None
    ids = tuple(choice.token_ids or ())
    listed = choice.logprobs.content if choice.logprobs is not None and choice.logprobs.content else []
    log_probs = tuple(token.logprob for token in listed)
    return Generation(
        text=choice.message.content or "",
        prompt_token_ids=tuple(completion.prompt_token_ids or ()),
        token_ids=ids,
        log_probs=log_probs if len(log_probs) == len(ids) else (),
        finish_reason="length" if choice.finish_reason == "length" else "stop",
    )


def read_refusal(body: str, *, secret: str) -> str:
    """Why the server refused, from the forms that servers use, without the key."""
    words = " ".join(_words(body).split()) or "no reason given"
    if secret:
        words = words.replace(secret, "***")
    return words[:MAX_REFUSAL_CHARS]


def _words(body: str) -> str:
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return str(error)
    parts = [error.get(name) for name in ("message", "detail", "code", "param")]
    return " ".join(str(part) for part in parts if part)
