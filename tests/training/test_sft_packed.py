"""Packed rows give the numbers of rows of their own, and every method trains what it says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import torch

from coding_framework.agents.models.loading import load_causal_model
from coding_framework.config import SFTConfig
from coding_framework.errors import ConfigError, TrainingInterrupted
from coding_framework.records import Message
from coding_framework.training.sft import loss
from coding_framework.training.sft.adapter import load_trainable
from coding_framework.training.sft.examples import Example
from coding_framework.training.sft.loss import answer_loss, row_loss
from coding_framework.training.sft.results import SFTStep
from coding_framework.training.sft.rows import join, share_out
from coding_framework.training.sft.trainer import run_sft
from tiny_model import write_tiny_model


class Pair(NamedTuple):
    messages: tuple[Message, ...]
    answer: str


QUESTIONS = {"a": "alpha", "b": "beta beta", "c": "gamma", "d": "delta!", "e": "epsilon", "f": "f"}
PAIRS = [Pair((Message(role="user", content=q),), a) for q, a in QUESTIONS.items()]
CPU = torch.device("cpu")
EXAMPLES = [
    Example((1, 20, 21, 22, 23), (30, 31, 2)),
    Example((1, 20), (40, 41, 42, 2)),
    Example((1, 60, 61, 62, 63, 64), (50, 2)),
]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def settings(**changes: Any) -> SFTConfig:
    values: dict[str, Any] = {
        "steps": 4,
        "batch_size": 4,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "max_length": 128,
        "lora_rank": 8,
        "batch_tokens": 128,
    }
    return SFTConfig(**{**values, **changes})


def awake(model: Any) -> Any:
    """A fresh adapter is zero in one half, which would hide the gradients of the other."""
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model.float().train()


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_packed_row_gives_loss_and_gradients_of_rows_of_their_own(
    model_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss, "LOGITS_AT_ONCE", 4)
    packed = awake(load_trainable(model_path, settings(method=method), "packed"))
    alone = awake(load_trainable(model_path, settings(method=method)))
    alone.load_state_dict(packed.state_dict())
    together = row_loss(packed, join(EXAMPLES, CPU))
    apart = torch.stack([answer_loss(alone, [example], 0) for example in EXAMPLES]).sum()
    assert together.item() == pytest.approx(apart.item(), rel=1e-5)
    of_row, of_each = (
        torch.autograd.grad(value, [p for p in model.parameters() if p.requires_grad])
        for value, model in ((together, packed), (apart, alone))
    )
    for left, right in zip(of_row, of_each, strict=True):
        assert torch.allclose(left, right, rtol=1e-3, atol=1e-5)


def test_pairs_of_a_step_are_shared_out_over_even_rows() -> None:
    rng = random.Random(3)
    lengths = [rng.randint(10, 400) for _ in range(60)]
    rows = share_out(lengths, 2000)
    assert sorted(place for row in rows for place in row) == list(range(60))
    filled = [sum(lengths[place] for place in row) for row in rows]
    assert max(filled) <= 2000
    assert max(filled) - min(filled) < 100
    assert len(rows) == -(-sum(lengths) // 2000)


def test_rows_come_in_the_multiple_that_processes_need() -> None:
    assert [sorted(row) for row in share_out([90, 20, 30], 100, multiple=2)] == [[0], [1, 2]]
    assert sorted(map(len, share_out([50], 100, multiple=2))) == [0, 1]


def test_how_rows_are_cut_does_not_change_what_is_learned(model_path: Path, tmp_path: Path) -> None:
    losses = [
        run_sft(PAIRS, settings(batch_tokens=tokens), model_path, tmp_path / str(tokens), attention="packed")
        for tokens in (128, 4096)
    ]
    assert losses[0].losses == pytest.approx(losses[1].losses, rel=2e-2)
    assert losses[0].losses[-1] < losses[0].losses[0]


def test_computing_activations_twice_changes_no_number(model_path: Path, tmp_path: Path) -> None:
    kept, twice = (
        run_sft(
            PAIRS,
            settings(checkpoint_activations=again),
            model_path,
            tmp_path / str(again),
            attention="packed",
        )
        for again in (False, True)
    )
    assert twice.losses == kept.losses


def test_all_weights_are_trained_resumed_and_left_as_a_whole_model(model_path: Path, tmp_path: Path) -> None:
    config = settings(method="full", learning_rate=1e-3, checkpoint_every=1)
    whole = run_sft(PAIRS, config, model_path, tmp_path / "whole", attention="packed")
    steps: list[SFTStep] = []
    with pytest.raises(TrainingInterrupted):
        run_sft(
            PAIRS,
            config,
            model_path,
            tmp_path / "parts",
            attention="packed",
            on_step=steps.append,
            should_stop=lambda: len(steps) == 2,
        )
    resumed = run_sft(PAIRS, config, model_path, tmp_path / "parts", attention="packed", resume=True)
    assert resumed.losses == whole.losses
    assert resumed.adapter_dir is None
    before, after = load_causal_model(model_path), load_causal_model(resumed.model_dir)
    changed = [
        name
        for (name, old), (_, new) in zip(before.named_parameters(), after.named_parameters(), strict=True)
        if not torch.equal(old, new)
    ]
    assert any("embed_tokens" in name for name in changed)
    assert any("mlp" in name for name in changed)


def test_epochs_say_how_many_steps_there_are(model_path: Path, tmp_path: Path) -> None:
    config = settings(steps=None, epochs=2, batch_size=2)
    steps: list[SFTStep] = []
    run_sft(PAIRS, config, model_path, tmp_path, attention="packed", on_step=steps.append)
    assert len(steps) == steps[0].steps == 6
    first, second = steps[:3], steps[3:]
    assert sum(step.tokens for step in first) == sum(step.tokens for step in second)


def test_rows_cannot_be_packed_where_attention_is_not(model_path: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.attention=packed"):
        run_sft(PAIRS, settings(), model_path, tmp_path)
