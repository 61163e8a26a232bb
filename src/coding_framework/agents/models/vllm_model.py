"""vLLM in this process: the fastest way to many answers on a GPU.

Guarantees: the ids in an answer are those that were given and sampled, with their log-probabilities at
the sampling temperature (`processed_logprobs`; with top-p or top-k, of what these leave); every agent is
answered with its own LoRA adapter over one set of base weights; requests awaited together become one
batch. Where vLLM or a GPU is missing, `NotAvailableError` says so before anything is loaded.
Not guaranteed: bit-equal answers under another batch, and that a batch ends early when its caller has gone.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from coding_framework.agents.models.batch_queue import BatchQueue
from coding_framework.agents.models.chat_model import SamplingSettings
from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.agents.models.loading import load_tokenizer
from coding_framework.agents.models.prompt_seeds import PromptSeeds
from coding_framework.agents.models.store import resolve_model
from coding_framework.errors import ModelNotFoundError, NotAvailableError, UserError
from coding_framework.records import AgentRole, Generation, GenerationRequest

DEFAULT_CONTEXT = 8192
"""Tokens of prompt and answer where the model could hold more: memory goes to more answers at a time."""
MEMORY_SHARE = 0.85
"""Of the card, for weights and for keys and values."""
_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks that vLLM has kernels for."""
_SEED_BITS = 63


class VLLMEngine(Protocol):
    """What is used of `vllm.LLM`."""

    llm_engine: Any
    """Holds the client of the process that computes."""

    def generate(
        self, prompts: Any, sampling_params: Any, *, lora_request: Any, use_tqdm: bool
    ) -> Sequence[Any]: ...


class _Prompt(NamedTuple):
    token_ids: list[int]
    agent: AgentRole
    max_tokens: int
    seed: int


class VLLMChatModel:
    """A model on this machine's GPU."""

    def __init__(
        self,
        engine: VLLMEngine,
        tokenizer: Any,
        *,
        sampling_params: Callable[..., Any],
        context_limit: int,
        settings: SamplingSettings | None = None,
        adapters: Mapping[AgentRole, Any] | None = None,
    ) -> None:
        """`sampling_params` makes vLLM's settings of one answer; `adapters` are its `LoRARequest`s."""
        self._engine = engine
        self._tokenizer = tokenizer
        self._sampling_params = sampling_params
        self._context_limit = context_limit
        self._settings = settings or SamplingSettings()
        self._adapters = dict(adapters or {})
        self._seeds = PromptSeeds(self._settings.seed)
        self._queue: BatchQueue[_Prompt, Generation] = BatchQueue(
            self._run_batch, max_batch_size=self._settings.max_batch_size
        )

    @classmethod
    def from_pretrained(
        cls,
        path_or_name: str | Path,
        *,
        adapter: Path | None = None,
        adapters: Mapping[AgentRole, Path] | None = None,
        settings: SamplingSettings | None = None,
        dtype: str = "bfloat16",
        gpu_memory_share: float = MEMORY_SHARE,
    ) -> VLLMChatModel:
        """Load a model that is on this machine; `adapter` serves every agent without one in `adapters`."""
        vllm, lora_request = require_vllm()
        path = resolve_model(str(path_or_name))
        settings = settings or SamplingSettings()
        roles: tuple[AgentRole, ...] = ("generator", "optimizer", "tester")
        folders = {**(dict.fromkeys(roles, adapter) if adapter else {}), **(adapters or {})}
        known = sorted(set(folders.values()))
        context = min(DEFAULT_CONTEXT, _context_of(path))
        engine = vllm.LLM(
            model=str(path),
            dtype=dtype,
            max_model_len=context,
            max_num_seqs=settings.max_batch_size,
            gpu_memory_utilization=gpu_memory_share,
            logprobs_mode="processed_logprobs",
            **_lora_settings(known),
        )
        requests = {
            folder: lora_request(lora_name=str(folder), lora_int_id=number, lora_path=str(folder))
            for number, folder in enumerate(known, start=1)
        }
        return cls(
            engine,
            load_tokenizer(path),
            sampling_params=vllm.SamplingParams,
            context_limit=context,
            settings=settings,
            adapters={role: requests[folder] for role, folder in folders.items()},
        )

    async def generate(self, request: GenerationRequest) -> Generation:
        ids = prompt_token_ids(self._tokenizer, request.messages)
        room = self._context_limit - len(ids)
        if room < 1:
            raise UserError(
                f"the prompt has {len(ids)} tokens, but the model's context holds {self._context_limit} with "
                "the answer: shorten the conversation (conversation.max_turns, "
                "conversation.max_prompt_tokens)"
            )
        seed = self._seeds.next(ids, bits=_SEED_BITS, own=request.seed)
        return await self._queue.submit(_Prompt(ids, request.agent, min(request.max_tokens, room), seed))

    def close(self) -> None:
        """End the engine's process: the card's memory is free when this returns."""
        self._engine.llm_engine.engine_core.shutdown()

    def _run_batch(self, prompts: Sequence[_Prompt], _stop: threading.Event) -> list[Generation]:
        outputs = self._engine.generate(
            [{"prompt_token_ids": prompt.token_ids} for prompt in prompts],
            [self._sampling(prompt) for prompt in prompts],
            lora_request=[self._adapters.get(prompt.agent) for prompt in prompts] if self._adapters else None,
            use_tqdm=False,
        )
        return [_generation(prompt, output) for prompt, output in zip(prompts, outputs, strict=True)]

    def _sampling(self, prompt: _Prompt) -> Any:
        settings = self._settings
        return self._sampling_params(
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k or -1,
            seed=prompt.seed,
            max_tokens=prompt.max_tokens,
            logprobs=0,  # of the sampled token alone
        )


def require_vllm() -> tuple[Any, Any]:
    """vLLM and its `LoRARequest`; raises `NotAvailableError` where it cannot be used."""
    import importlib

    try:
        vllm = importlib.import_module("vllm")
        lora = importlib.import_module("vllm.lora.request")
    except ImportError as error:
        raise NotAvailableError(
            f"vLLM cannot be used here ({error}): run  pip install vllm  on a machine with a GPU, or name "
            "the model without `vllm:` to run it with transformers"
        ) from error
    import torch

    if not torch.cuda.is_available():
        raise NotAvailableError(
            "vLLM needs a GPU and this machine shows none: name the model without `vllm:`, or use a server "
            "(openai:MODEL@URL)"
        )
    return vllm, lora.LoRARequest


def _generation(prompt: _Prompt, output: Any) -> Generation:
    answer = output.outputs[0]
    ids = tuple(int(token) for token in answer.token_ids)
    return Generation(
        text=answer.text,
        prompt_token_ids=tuple(prompt.token_ids),
        token_ids=ids,
        log_probs=tuple(float(seen[token].logprob) for token, seen in zip(ids, answer.logprobs, strict=True)),
        finish_reason="length" if answer.finish_reason == "length" else "stop",
    )


def _context_of(path: Path) -> int:
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    return int(config.get("max_position_embeddings", DEFAULT_CONTEXT))


def _lora_settings(adapters: Sequence[Path]) -> dict[str, Any]:
    if not adapters:
        return {}
    rank = max(_rank_of(folder) for folder in adapters)
    fitting = next((known for known in _LORA_RANKS if known >= rank), None)
    if fitting is None:
        raise UserError(f"an adapter of rank {rank} is more than vLLM takes ({_LORA_RANKS[-1]})")
    return {"enable_lora": True, "max_loras": len(adapters), "max_lora_rank": fitting}


def _rank_of(folder: Path) -> int:
    try:
        return int(json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["r"])
    except (OSError, ValueError, KeyError) as error:
        raise ModelNotFoundError(f"{folder} holds no adapter (no adapter_config.json with a rank)") from error
