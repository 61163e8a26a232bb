"""Tokens in, tokens out: the sampling loop shared by evaluation, serving and RL rollouts.

Guaranteed:
- the same prompts, settings and seeds give the same tokens on the same machine;
- a row that has ended leaves the batch at once, so short answers do not wait for long ones;
- a prefix that several prompts share is computed once (a GRPO group, k samples of one task, the
  system prompt of a whole batch);
- `log_probs` are those of the full distribution at the sampling temperature (see `sampling`).

Not guaranteed: bit-equal tokens when the same row is sampled in a differently composed batch
(matrix products round differently by shape). The model must be a decoder with full attention in
every layer, as the Llama and Qwen families are. One `generate` at a time: the caller serialises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from coding_framework.agents.models.answer_rows import AnswerRow, Sampled, row_seeds, uniforms_of
from coding_framework.agents.models.kv_rows import KeyValueRows, register_attention
from coding_framework.agents.models.sampling import choose_tokens
from coding_framework.errors import UserError

if TYPE_CHECKING:
    import torch

__all__ = ["BatchedGenerator", "Sampled"]


class BatchedGenerator:
    """Samples from one causal language model."""

    def __init__(self, model: Any, tokenizer: Any, device: str = "cpu") -> None:
        self.model = model.to(device).eval()
        self.tokenizer = tokenizer
        self.device = device
        self._attention = register_attention()

    @property
    def context_limit(self) -> int:
        """Most tokens that prompt and answer may have together."""
        return int(self.model.config.max_position_embeddings)

    @property
    def default_stop_token_ids(self) -> frozenset[int]:
        """The tokenizer's end token and those that the model's generation settings name."""
        configured = getattr(self.model.generation_config, "eos_token_id", None)
        ids = configured if isinstance(configured, list) else [configured]
        return frozenset(i for i in (*ids, self.tokenizer.eos_token_id) if i is not None)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_new_tokens: int | Sequence[int],
        temperature: float,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int | Sequence[int] | None = None,
        stop_token_ids: Sequence[int] | frozenset[int] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[Sampled]:
        """One answer to each prompt, in order. Temperature 0 is greedy; no seed means a random one.

        When `should_stop` says so, unfinished answers end where they are.
        """
        import torch

        if not prompts:
            return []
        rows = self._rows(prompts, max_new_tokens, seed)
        stops = self.default_stop_token_ids if stop_token_ids is None else frozenset(stop_token_ids)
        with torch.inference_mode(), self._own_attention():
            memory, logits = self._prefill(prompts, rows)
            self._decode(list(rows), memory, logits, stops, (temperature, top_p, top_k), should_stop)
        return [row.sampled() for row in rows]

    def _rows(
        self,
        prompts: Sequence[Sequence[int]],
        max_new_tokens: int | Sequence[int],
        seed: int | Sequence[int] | None,
    ) -> list[AnswerRow]:
        limits = [max_new_tokens] * len(prompts) if isinstance(max_new_tokens, int) else list(max_new_tokens)
        seeds = row_seeds(seed, len(prompts))
        rows = []
        for index, (prompt, limit, row_seed) in enumerate(zip(prompts, limits, seeds, strict=True)):
            room = self.context_limit - len(prompt)
            if not prompt or limit < 1 or room < 1:
                raise UserError(
                    f"prompt {index} has {len(prompt)} tokens and may have {limit} more: the model holds "
                    f"{self.context_limit} in all, and both must be at least one"
                )
            rows.append(
                AnswerRow(index, len(prompt), min(limit, room), uniforms_of(row_seed, min(limit, room)))
            )
        return rows

    def _prefill(
        self, prompts: Sequence[Sequence[int]], rows: Sequence[AnswerRow]
    ) -> tuple[KeyValueRows, torch.Tensor]:
        """Compute every different prompt once, each on top of what it shares with the one before.

        In lexicographic order the predecessor is the prompt with the longest common prefix.
        """
        import torch

        widest = max(map(len, prompts))
        memory = self._memory(len(prompts), widest + max(row.limit for row in rows))
        logits: list[torch.Tensor | None] = [None] * len(prompts)
        previous: tuple[Sequence[int], KeyValueRows] | None = None
        for prompt in sorted({tuple(prompt) for prompt in prompts}):
            one, last = self._prefill_one(prompt, previous)
            previous = (prompt, one)
            for row in (row for row in rows if tuple(prompts[row.index]) == prompt):
                memory.place(row.index, one, widest)
                logits[row.index] = last
        memory.width = widest
        return memory, torch.stack([row for row in logits if row is not None])

    def _prefill_one(
        self, prompt: Sequence[int], previous: tuple[Sequence[int], KeyValueRows] | None
    ) -> tuple[KeyValueRows, torch.Tensor]:
        one = self._memory(1, len(prompt))
        if previous is not None:
            # At least one token is computed anew: its logits are needed.
            one.copy_prefix(previous[1], min(_common_prefix(prompt, previous[0]), len(prompt) - 1))
        logits = self._forward(
            [list(prompt[one.width :])], [one.width], one, self._causal_mask(one, len(prompt))
        )
        return one, logits[0]

    def _decode(
        self,
        active: list[AnswerRow],
        memory: KeyValueRows,
        logits: torch.Tensor,
        stops: frozenset[int],
        settings: tuple[float, float, int],
        should_stop: Callable[[], bool],
    ) -> None:
        """Sample a token for every row in turn; `active[i]` sits in slot i of the memory."""
        mask = self._padding_mask(active, memory)
        while True:
            ids = self._sample(active, logits, settings)
            done = [i for i, row in enumerate(active) if row.add(*ids[i], stops)]
            for slot in reversed(done):
                memory.drop(slot)
                active[slot] = active[-1]
                active.pop()
                if mask is not None:
                    mask[slot] = mask[len(active)]
            if not active or should_stop():
                return
            visible = None if mask is None else mask[: len(active), :, :, : memory.width + 1]
            tokens = [[row.token_ids[-1]] for row in active]
            positions = [row.prompt_length + len(row.token_ids) - 1 for row in active]
            logits = self._forward(tokens, positions, memory, visible)

    def _sample(
        self, active: Sequence[AnswerRow], logits: torch.Tensor, settings: tuple[float, float, int]
    ) -> list[tuple[int, float]]:
        import torch

        temperature, top_p, top_k = settings
        uniforms = torch.tensor([row.uniforms[len(row.token_ids)] for row in active], device=self.device)
        ids, log_probs = choose_tokens(logits, uniforms, temperature=temperature, top_p=top_p, top_k=top_k)
        return list(zip(ids.tolist(), log_probs.tolist(), strict=True))

    def _forward(
        self,
        tokens: Sequence[Sequence[int]],
        first_positions: Sequence[int],
        memory: KeyValueRows,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Logits of the last token of every row; the memory grows by the tokens given."""
        import torch

        ids = torch.tensor(tokens, device=self.device)
        starts = torch.tensor(first_positions, device=self.device)[:, None]
        positions = starts + torch.arange(ids.shape[1], device=self.device)
        output = self.model(
            input_ids=ids,
            position_ids=positions,
            attention_mask=mask,
            past_key_values=memory,
            use_cache=True,
            logits_to_keep=1,
        )
        memory.advance(ids.shape[1])
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _memory(self, rows: int, columns: int) -> KeyValueRows:
        return KeyValueRows(self.model.config, rows, columns, self.model.dtype, self.device)

    def _causal_mask(self, memory: KeyValueRows, length: int) -> torch.Tensor | None:
        """None when nothing is cached (plain causal attention), or for a single new token."""
        import torch

        past = memory.width
        if past == 0 or length - past == 1:
            return None
        blocked = torch.full(
            (length - past, length), float("-inf"), dtype=self.model.dtype, device=self.device
        )
        return blocked.triu_(diagonal=past + 1)[None, None]

    def _padding_mask(self, active: Sequence[AnswerRow], memory: KeyValueRows) -> torch.Tensor | None:
        """Hides the columns before each prompt; None when all prompts are equally long."""
        import torch

        if all(row.prompt_length == memory.width for row in active):
            return None
        columns = memory.keys[0].shape[2]
        mask = torch.zeros((len(active), 1, 1, columns), dtype=self.model.dtype, device=self.device)
        for slot, row in enumerate(active):
            mask[slot, :, :, : memory.width - row.prompt_length] = float("-inf")
        return mask

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        """Swap the attention in for the time of one call; the model stays usable for training."""
        before = self.model.config._attn_implementation
        self.model.set_attn_implementation(self._attention)
        try:
            yield
        finally:
            self.model.set_attn_implementation(before)


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    for length, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return length
    return min(len(left), len(right))
