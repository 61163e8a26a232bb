"""Pairs become exactly the ids that sampling sees, in batches that waste little."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.agents.models.loading import load_tokenizer
from coding_framework.errors import UserError
from coding_framework.records import Message
from coding_framework.training.sft.examples import (
    fingerprint,
    plan_batches,
    tokenize_pairs,
)
from coding_framework.training.sft.loss import learning_rate_at
from tiny_model import write_tiny_model


class Pair(NamedTuple):
    messages: tuple[Message, ...]
    answer: str


PAIR = Pair(
    (Message(role="system", content="Be brief."), Message(role="user", content="1+1?")), "  2\n```é```"
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_tokenizer(write_tiny_model(tmp_path_factory.mktemp("model")))


def test_prompt_ids_are_those_of_inference_and_a_prefix_of_the_whole_conversation(tokenizer: Any) -> None:
    (example,), _ = tokenize_pairs(tokenizer, [PAIR], 1000)
    assert list(example.prompt_ids) == prompt_token_ids(tokenizer, PAIR.messages)
    chat = [{"role": m.role, "content": m.content} for m in PAIR.messages]
    chat.append({"role": "assistant", "content": PAIR.answer})
    whole = tokenizer.apply_chat_template(chat, return_dict=False)
    ids = [*example.prompt_ids, *example.answer_ids]
    assert whole[: len(ids)] == ids


def test_an_answer_ends_with_the_end_token_and_decodes_to_itself(tokenizer: Any) -> None:
    (example,), _ = tokenize_pairs(tokenizer, [PAIR], 1000)
    assert example.answer_ids[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(example.answer_ids, skip_special_tokens=True) == PAIR.answer


def test_pairs_that_are_too_long_are_left_out_and_counted(tokenizer: Any) -> None:
    long = Pair(PAIR.messages, "x" * 500)
    examples, too_long = tokenize_pairs(tokenizer, [PAIR, long, PAIR], 120)
    assert (len(examples), too_long) == (2, 1)


def test_when_no_pair_fits_the_error_names_the_setting(tokenizer: Any) -> None:
    with pytest.raises(UserError, match=r"sft\.max_length"):
        tokenize_pairs(tokenizer, [PAIR], 5)


def test_every_example_is_seen_once_in_an_epoch() -> None:
    plan = plan_batches([9, 3, 7, 7, 3, 8, 1], batch_size=2, count=8, seed=4)
    assert sorted(index for batch in plan[:4] for index in batch) == list(range(7))
    assert sorted(index for batch in plan[4:] for index in batch) == list(range(7))
    assert plan[:4] != plan[4:]


def test_batches_hold_neighbours_in_length() -> None:
    lengths = [100, 10, 101, 11, 12, 102]
    for batch in plan_batches(lengths, batch_size=3, count=2, seed=0):
        assert max(lengths[i] for i in batch) - min(lengths[i] for i in batch) == 2


def test_the_plan_depends_on_the_seed_alone() -> None:
    lengths = list(range(20))
    assert plan_batches(lengths, 3, 30, 1) == plan_batches(lengths, 3, 30, 1)
    assert plan_batches(lengths, 3, 30, 1) != plan_batches(lengths, 3, 30, 2)


def test_the_fingerprint_changes_with_data_and_settings(tokenizer: Any, tmp_path: Path) -> None:
    examples, _ = tokenize_pairs(tokenizer, [PAIR], 1000)
    other, _ = tokenize_pairs(tokenizer, [Pair(PAIR.messages, "3")], 1000)
    prints = {fingerprint(examples, 1), fingerprint(other, 1), fingerprint(examples, 2)}
    assert len(prints) == 3
    assert fingerprint(examples, 1) in prints


def test_the_learning_rate_rises_to_its_peak_and_falls_to_a_tenth() -> None:
    rates = [learning_rate_at(step, steps=40, peak=1.0, warmup_steps=4) for step in range(41)]
    assert rates[:4] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert max(rates) == rates[4] == 1.0
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rates[40] == pytest.approx(0.1)
