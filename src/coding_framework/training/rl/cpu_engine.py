"""verl plug-in: the FSDP language-model engine, registered for the device `cpu`.

verl registers its FSDP engines for cuda and npu only; the engine itself runs on gloo unchanged. Here the rows
of a pass stand in one, without padding, what they begin with stands there once (`shared_rows`,
`packed_attention`), and logits are computed only where an answer is predicted: the same numbers for less than
half of the work. The critic has an engine of its own (`critic_engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from verl.utils import tensordict_utils as tu
from verl.utils.torch_functional import entropy_from_logits, logprobs_from_logits
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.engine.utils import detach_tree

from coding_framework.training.rl.reference_engine import LanguageModelEngine
from coding_framework.training.rl.shared_rows import Tokens, cut_further, cut_into_passes
from coding_framework.training.shared_beginning import shared_length


@dataclass(frozen=True)
class _Rows:
    """Those of a batch."""

    ids: list[torch.Tensor]
    """Prompt and answer."""
    prompts: list[Tokens]

    @classmethod
    def of(cls, data: Any) -> _Rows:
        ids = list(data["input_ids"].unbind())
        sizes = data["prompts"].offsets().diff().tolist()
        return cls(ids, [tuple(row[:size].tolist()) for row, size in zip(ids, sizes, strict=True)])

    @property
    def answers(self) -> list[torch.Tensor]:
        return [ids[len(prompt) :] for ids, prompt in zip(self.ids, self.prompts, strict=True)]


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")
class SharingEngine(LanguageModelEngine):
    """verl's, with rows that share what they begin with."""

    def forward_backward_batch(self, data: Any, loss_function: Any, forward_only: bool = False) -> Any:
        with _cutting_by_prompt():
            return super().forward_backward_batch(data, loss_function, forward_only=forward_only)

    def forward_step(
        self, micro_batch: Any, loss_function: Callable[..., Any] | None, forward_only: bool
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """The loss of one pass, and what is told of it."""
        kind = self._autocast_dtype
        with nullcontext() if kind == torch.float32 else torch.autocast(device_type="cpu", dtype=kind):
            output = self._model_output(micro_batch)
            loss, metrics = torch.tensor(1.0), {}
            if loss_function is not None:
                group = self.get_data_parallel_group()
                loss, metrics = loss_function(model_output=output, data=micro_batch, dp_group=group)
        return loss, {"model_output": detach_tree(output), "loss": loss.detach().item(), "metrics": metrics}

    def _model_output(self, micro_batch: Any) -> dict[str, torch.Tensor]:
        """Of every token, as verl has it: 0 where no token of an answer is predicted."""
        rows, offsets = _Rows.of(micro_batch), micro_batch["input_ids"].offsets()
        answers = rows.answers
        sizes = [len(answer) for answer in answers]
        logits = self._logits(rows) / _temperatures(micro_batch["temperature"], sizes)
        found = {"log_probs": logprobs_from_logits(logits, torch.cat(answers))}
        if tu.get_non_tensor_data(data=micro_batch, key="calculate_entropy", default=False):
            found["entropy"] = entropy_from_logits(logits)
        return {
            name: torch.nested.nested_tensor_from_jagged(_spread(values.split(sizes), rows.prompts), offsets)
            for name, values in found.items()
        }

    def _logits(self, rows: _Rows) -> torch.Tensor:
        """Where a token of an answer is predicted, row after row."""
        shared = shared_length(rows.prompts)
        parts, positions, predicting, end = [rows.ids[0][:shared]], [torch.arange(shared)], [], shared
        for ids, prompt in zip(rows.ids, rows.prompts, strict=True):
            parts.append(ids[shared:])
            positions.append(torch.arange(shared, len(ids)))
            before, end = end - shared, end + len(ids) - shared
            predicting.append(torch.arange(before + len(prompt) - 1, end - 1))
        output = self.module(
            input_ids=torch.cat(parts)[None],
            attention_mask=None,
            position_ids=torch.cat(positions)[None],
            logits_to_keep=torch.cat(predicting),
            use_cache=False,
        )
        logits: torch.Tensor = output.logits[0].float()
        return logits


def _temperatures(given: Any, sizes: Sequence[int]) -> torch.Tensor:
    """Of every logit: one for all rows, or one for each."""
    of_rows = torch.as_tensor(given, dtype=torch.float32).expand(len(sizes))
    return of_rows.repeat_interleave(torch.tensor(sizes))[:, None]


def _spread(answers: Sequence[torch.Tensor], prompts: Sequence[Tokens]) -> torch.Tensor:
    """The numbers of an answer stand one place before its tokens, where these are predicted."""
    parts: list[torch.Tensor] = []
    for values, prompt in zip(answers, prompts, strict=True):
        parts += [values.new_zeros(len(prompt) - 1), values, values.new_zeros(1)]
    return torch.cat(parts)


@contextmanager
def _cutting_by_prompt() -> Iterator[None]:
    before = transformer_impl.prepare_micro_batches
    transformer_impl.prepare_micro_batches = _by_prompt
    try:
        yield
    finally:
        transformer_impl.prepare_micro_batches = before


def _by_prompt(data: Any, dp_group: Any = None, **_unused: Any) -> tuple[list[Any], list[list[int]]]:
    """In place of verl's, which balances passes by their lengths; every actor makes equally many."""
    rows = _Rows.of(data)
    cut = cut_into_passes(rows.prompts, [len(row) for row in rows.ids], int(data["max_token_len_per_gpu"]))
    needed = torch.tensor(len(cut))
    torch.distributed.all_reduce(needed, op=torch.distributed.ReduceOp.MAX, group=dp_group)
    cut = cut_further(cut, int(needed))
    return [tu.index_select_tensor_dict(data, torch.tensor(one)) for one in cut], cut
