"""What a model's folder says of its size, read without loading it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.agents.models.plain_attention import not_plain
from coding_framework.agents.models.store import resolve_model
from coding_framework.config import FrameworkConfig
from coding_framework.errors import FrameworkError
from coding_framework.records import Record


class ModelShape(Record):
    """Sizes of a decoder as Llama and Qwen build it."""

    hidden_size: int = Field(gt=0)
    """Width of the residual stream."""
    intermediate_size: int = Field(gt=0)
    """Width inside the feed-forward part."""
    num_hidden_layers: int = Field(gt=0)
    """Decoder layers."""
    num_attention_heads: int = Field(gt=0)
    """Heads of the queries."""
    num_key_value_heads: int = Field(gt=0)
    """Heads of keys and values."""
    vocab_size: int = Field(gt=0)
    """Rows of the embedding."""
    tie_word_embeddings: bool
    """Whether the output uses the input's embedding."""
    max_position_embeddings: int = Field(gt=0)
    """Longest text that it reads."""
    head_dim: int | None = None
    """Width of a head; None: the residual stream's, shared out among the heads."""

    @property
    def _linear_sizes(self) -> tuple[tuple[int, int], ...]:
        """(in, out) of the linear layers of one decoder layer."""
        head = self.head_dim or self.hidden_size // self.num_attention_heads
        queries, kv = head * self.num_attention_heads, head * self.num_key_value_heads
        hidden, inner = self.hidden_size, self.intermediate_size
        return (
            (hidden, queries),
            (hidden, kv),
            (hidden, kv),
            (queries, hidden),
            (hidden, inner),
            (hidden, inner),
            (inner, hidden),
        )

    @property
    def linear_parameters(self) -> int:
        """Weights of all linear layers of the decoder, which adapters stand beside."""
        return self.num_hidden_layers * sum(a * b for a, b in self._linear_sizes)

    @property
    def parameters(self) -> int:
        """Weights, up to biases."""
        norms = (2 * self.num_hidden_layers + 1) * self.hidden_size
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tie_word_embeddings else 2)
        return embeddings + self.linear_parameters + norms

    def adapter_parameters(self, rank: int) -> int:
        """Weights of an adapter on all linear layers."""
        return rank * self.num_hidden_layers * sum(a + b for a, b in self._linear_sizes)

    @property
    def cache_bytes_per_token(self) -> int:
        """Keys and values of one token in 16 bits."""
        return 4 * self.num_hidden_layers * self._linear_sizes[1][1]


_EMBEDDED = {
    "smollm2-135m-instruct": ModelShape(
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        vocab_size=49_152,
        tie_word_embeddings=True,
        max_position_embeddings=8192,
    ),
    "qwen2.5-coder-1.5b-instruct": ModelShape(
        hidden_size=1536,
        intermediate_size=8960,
        num_hidden_layers=28,
        num_attention_heads=12,
        num_key_value_heads=2,
        vocab_size=151_936,
        tie_word_embeddings=True,
        max_position_embeddings=32_768,
    ),
}
assert _EMBEDDED.keys() == EMBEDDED_MODELS.keys()


def model_shape(name: str) -> ModelShape | None:
    """None for a model that is not on this machine yet, or of another build."""
    if name in _EMBEDDED:
        return _EMBEDDED[name]
    folder = model_folder(name)
    return None if folder is None else _read(folder / "config.json")


def model_folder(name: str) -> Path | None:
    """Where the model is on this machine; None if it has to be fetched first."""
    try:
        return resolve_model(name)
    except FrameworkError:
        return None


def strange_attention(config: FrameworkConfig) -> str | None:
    """What of the model's attention would be left out; None where nothing is, or nothing is known yet."""
    folder, conversation = model_folder(config.model.name), config.conversation
    if folder is None:
        return None
    sampled = conversation.max_prompt_tokens + conversation.max_response_tokens
    longest = max(sampled, config.sft.max_length if config.sft.enabled else 0)
    try:
        return not_plain(json.loads((folder / "config.json").read_text(encoding="utf-8")), longest)
    except (OSError, ValueError):
        return None


def _read(path: Path) -> ModelShape | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault("num_key_value_heads", found.get("num_attention_heads"))
        found.setdefault("tie_word_embeddings", False)
        return ModelShape.model_validate({key: found.get(key) for key in ModelShape.model_fields})
    except (OSError, ValueError):
        return None
