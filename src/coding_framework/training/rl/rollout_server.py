"""The Ray actor that samples for rollouts with transformers: token ids in, token ids out.

It needs no inference engine, so it serves on the CPU and on a single GPU alike. Requests of a cohort are
sampled as one batch. Weights change only between batches.

Guaranteed: a request with a seed in a cohort gets the same answer from the same weights whenever it is
asked, in whatever order the cohort came.

verl is imported inside functions only: the module that registers this server is loaded by `import
verl` itself, and a worker process may come here first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coding_framework.training.rl.names import MOST_ROWS
from coding_framework.training.rl.request_batcher import Cohort, RequestBatcher
from coding_framework.training.rl.rollout_weights import RolloutWeights

if TYPE_CHECKING:
    from verl.workers.rollout.replica import TokenOutput


@dataclass(frozen=True)
class ServerSettings:
    """What one server is started with."""

    model_path: str
    device: str
    dtype: str
    response_length: int


@dataclass(frozen=True)
class SamplingRequest:
    """One prompt and how to sample its answer."""

    prompt_ids: tuple[int, ...]
    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int
    """What its answer is drawn from."""

    @classmethod
    def from_verl(
        cls, prompt_ids: Sequence[int], params: Mapping[str, Any], response_length: int
    ) -> SamplingRequest:
        """verl writes -1 for "no top-k" and may leave the length to the server."""
        limit = params.get("max_tokens") or params.get("max_new_tokens") or response_length
        return cls(
            prompt_ids=tuple(prompt_ids),
            max_tokens=int(limit),
            temperature=float(params.get("temperature", 1.0)),
            top_p=float(params.get("top_p", 1.0)),
            top_k=max(0, int(params.get("top_k", 0))),
            seed=int(params["seed"]),
        )

    @property
    def setting(self) -> tuple[float, float, int]:
        """Requests that share it are sampled in one call."""
        return self.temperature, self.top_p, self.top_k


class GenerationServer:
    """One model, one lock: sampling and weight changes never overlap."""

    def __init__(self, settings: ServerSettings) -> None:
        from verl.workers.rollout.replica import TokenOutput

        from coding_framework.agents.models.batched_generator import BatchedGenerator
        from coding_framework.agents.models.loading import load_causal_model, load_tokenizer

        path = Path(settings.model_path)
        model = load_causal_model(path, dtype=settings.dtype, device=settings.device)
        self._settings = settings
        self._answer = TokenOutput
        self._generator = BatchedGenerator(model, load_tokenizer(path), settings.device)
        self._weights = RolloutWeights(model)
        self._batcher: RequestBatcher[SamplingRequest, TokenOutput] = RequestBatcher(self._sample)
        self._lock = asyncio.Lock()
        self._global_steps: int | None = None

    async def generate(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        sampling_params: Mapping[str, Any],
        **_unused: Any,
    ) -> TokenOutput:
        """verl's entry: one prompt. `cohort` and `cohort_size` in the parameters say whom to wait for."""
        request = SamplingRequest.from_verl(prompt_ids, sampling_params, self._settings.response_length)
        cohort = None
        if "cohort" in sampling_params:
            cohort = Cohort(str(sampling_params["cohort"]), int(sampling_params["cohort_size"]))
        return await self._batcher.submit(request, cohort)

    async def _sample(self, requests: Sequence[SamplingRequest]) -> list[TokenOutput]:
        outputs: dict[int, TokenOutput] = {}
        for rows in _alike(requests):
            async with self._lock:
                sampled = await asyncio.to_thread(self._sample_alike, [requests[row] for row in rows])
            outputs.update(zip(rows, sampled, strict=True))
        return [outputs[row] for row in range(len(requests))]

    def _sample_alike(self, requests: Sequence[SamplingRequest]) -> list[TokenOutput]:
        temperature, top_p, top_k = requests[0].setting
        sampled = self._generator.generate(
            [request.prompt_ids for request in requests],
            max_new_tokens=[request.max_tokens for request in requests],
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            seed=[request.seed for request in requests],
        )
        return [
            self._answer(
                token_ids=list(one.token_ids),
                log_probs=list(one.log_probs),
                stop_reason="completed" if one.finish_reason == "stop" else "length",
                num_preempted=0,
                extra_fields={"global_steps": self._global_steps},
            )
            for one in sampled
        ]

    async def load_weights(self, named_arrays: Sequence[tuple[str, Any]], lora_scale: float | None) -> None:
        """Take full weights, or adapters when there is a scale."""
        import torch

        tensors = [(name, torch.from_numpy(array.copy())) for name, array in named_arrays]
        async with self._lock:
            with torch.no_grad():
                if lora_scale is None:
                    self._weights.load_full(tensors)
                else:
                    self._weights.merge_adapter(tensors, lora_scale)

    async def finish_update(self, global_steps: int | None) -> None:
        self._global_steps = global_steps

    async def wake_up(self, *_args: Any, **_kwargs: Any) -> None:
        """Nothing was released: the weights stay in memory between phases."""

    async def sleep(self, *_args: Any, **_kwargs: Any) -> None:
        """Keeps everything: the trainer's memory is elsewhere."""

    async def abort_all_requests(self, *_args: Any, **_kwargs: Any) -> None:
        """Synchronous training has no request under way when this is called."""

    async def resume_generation(self) -> None:
        """The counterpart of `abort_all_requests`."""

    async def clear_kv_cache(self) -> None:
        """No cache outlives a batch."""

    async def release_kv_cache(self) -> None:
        """No cache outlives a batch."""

    async def resume_kv_cache(self) -> None:
        """No cache outlives a batch."""


def _alike(requests: Sequence[SamplingRequest]) -> list[list[int]]:
    """Which are sampled in one call, in an order that does not depend on which came first."""
    calls: list[list[int]] = []
    for setting in sorted({request.setting for request in requests}):
        rows = [row for row, request in enumerate(requests) if request.setting == setting]
        rows.sort(key=lambda row: (requests[row].seed, requests[row].prompt_ids))
        calls += [rows[first : first + MOST_ROWS] for first in range(0, len(rows), MOST_ROWS)]
    return calls
