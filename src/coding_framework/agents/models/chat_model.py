"""What an agent talks to: messages in, an answer with its exact token ids out.

`ChatModel` is the seam; agents, episodes and the evaluation know only it. `TransformersChatModel`
runs a model in this process; `vllm_model` and `openai_model` hold the others, `open_model` the door.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import Field

from coding_framework.agents.models.batch_queue import BatchQueue
from coding_framework.agents.models.batched_generator import BatchedGenerator, Sampled
from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.agents.models.loading import default_device, load_causal_model, load_tokenizer
from coding_framework.agents.models.prompt_seeds import PromptSeeds
from coding_framework.agents.models.store import resolve_model
from coding_framework.errors import UserError
from coding_framework.records import Generation, GenerationRequest
from coding_framework.records.base import Record


class ChatModel(Protocol):
    """Answers requests; many may be awaited at once."""

    async def generate(self, request: GenerationRequest) -> Generation: ...

    def close(self) -> None:
        """Give back what it holds; it answers no more."""
        ...


class SamplingSettings(Record):
    """How answers are drawn."""

    temperature: float = Field(default=0.6, ge=0)
    """0 is greedy."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Mass of the likeliest tokens that may be drawn."""
    top_k: int = Field(default=0, ge=0)
    """How many of the likeliest tokens may be drawn; 0 for all."""
    seed: int = 0
    """The n-th request with the same prompt is drawn from the same random numbers in every run."""
    max_batch_size: int = Field(default=16, ge=1)
    """Answers written together."""


class _Prompt(NamedTuple):
    token_ids: list[int]
    max_tokens: int
    seed: int


class TransformersChatModel:
    """A model in this process; requests awaited together are answered in one batch."""

    def __init__(self, generator: BatchedGenerator, settings: SamplingSettings) -> None:
        self._generator = generator
        self._settings = settings
        self._seeds = PromptSeeds(settings.seed)
        self._queue: BatchQueue[_Prompt, Sampled] = BatchQueue(
            self._run_batch, max_batch_size=settings.max_batch_size
        )

    @classmethod
    def from_pretrained(
        cls,
        path_or_name: str | Path,
        *,
        adapter: Path | None = None,
        dtype: str = "float32",
        device: str | None = None,
        settings: SamplingSettings | None = None,
    ) -> TransformersChatModel:
        """Load a model that is on this machine; `device` None takes a GPU when there is one."""
        path = resolve_model(str(path_or_name))
        device = device or default_device()
        model = load_causal_model(path, dtype=dtype, device=device, adapter=adapter)
        generator = BatchedGenerator(model, load_tokenizer(path), device)
        return cls(generator, settings or SamplingSettings())

    async def generate(self, request: GenerationRequest) -> Generation:
        prompt = self._prompt(request)
        sampled = await self._queue.submit(prompt)
        return Generation(
            text=self._generator.tokenizer.decode(sampled.token_ids, skip_special_tokens=True),
            prompt_token_ids=tuple(prompt.token_ids),
            token_ids=sampled.token_ids,
            log_probs=sampled.log_probs,
            finish_reason=sampled.finish_reason,
        )

    def close(self) -> None:
        """Its memory goes with the last reference to it."""

    def _prompt(self, request: GenerationRequest) -> _Prompt:
        ids = prompt_token_ids(self._generator.tokenizer, request.messages)
        limit = self._generator.context_limit
        if len(ids) >= limit:
            raise UserError(
                f"the prompt has {len(ids)} tokens, but the model's context holds {limit} with the answer: "
                f"shorten the conversation (conversation.max_turns, conversation.max_prompt_tokens)"
            )
        return _Prompt(ids, request.max_tokens, self._seeds.next(ids, own=request.seed))

    def _run_batch(self, prompts: Sequence[_Prompt], stop: threading.Event) -> list[Sampled]:
        settings = self._settings
        return self._generator.generate(
            [prompt.token_ids for prompt in prompts],
            max_new_tokens=[prompt.max_tokens for prompt in prompts],
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k,
            seed=[prompt.seed for prompt in prompts],
            should_stop=stop.is_set,
        )
