"""Chat models: exact ids, batches of concurrent requests, clear refusals."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from coding_framework.agents.models.batch_queue import BatchQueue
from coding_framework.agents.models.chat_model import SamplingSettings, TransformersChatModel
from coding_framework.errors import ModelNotFoundError, UserError
from coding_framework.records import Generation, GenerationRequest, Message
from tiny_model import write_tiny_model


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def chat_model(path: Path, **changes: Any) -> TransformersChatModel:
    settings = SamplingSettings(**{"temperature": 1.0, **changes})
    return TransformersChatModel.from_pretrained(path, device="cpu", settings=settings)


def ask(words: str, max_tokens: int = 6) -> GenerationRequest:
    message = Message(role="user", content=words)
    return GenerationRequest(agent="generator", messages=(message,), max_tokens=max_tokens)


async def answers(model: TransformersChatModel, words: Sequence[str]) -> list[Generation]:
    return list(await asyncio.gather(*(model.generate(ask(word)) for word in words)))


async def test_an_answer_carries_the_ids_that_were_given_and_sampled(model_path: Path) -> None:
    (answer,) = await answers(chat_model(model_path), ["hello"])
    assert len(answer.token_ids) == len(answer.log_probs) <= 6
    assert answer.prompt_token_ids[0] == 1
    assert all(log_prob <= 0 for log_prob in answer.log_probs)


async def test_the_same_seed_repeats_a_run_however_requests_were_batched(model_path: Path) -> None:
    words = ["one", "two", "two", "three"]
    together = await answers(chat_model(model_path), words)
    one_by_one = await answers(chat_model(model_path, max_batch_size=1), words)
    other_seed = await answers(chat_model(model_path, seed=1), words)
    assert [a.token_ids for a in together] == [a.token_ids for a in one_by_one]
    assert [a.token_ids for a in together] != [a.token_ids for a in other_seed]
    assert together[1].token_ids != together[2].token_ids


async def test_a_prompt_beyond_the_context_is_refused_and_its_neighbours_are_answered(
    model_path: Path,
) -> None:
    model = chat_model(model_path)
    long, short = await asyncio.gather(
        model.generate(ask("x" * 400)), model.generate(ask("x")), return_exceptions=True
    )
    assert isinstance(long, UserError)
    assert "256" in str(long)
    assert isinstance(short, Generation)


def test_a_model_serves_one_event_loop_after_another(model_path: Path) -> None:
    model = chat_model(model_path, temperature=0)
    first, second = (asyncio.run(answers(model, ["again"])) for _ in range(2))
    assert first[0].token_ids == second[0].token_ids


def test_an_adapter_folder_that_holds_none_is_refused(model_path: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"adapter_config\.json"):
        TransformersChatModel.from_pretrained(model_path, adapter=tmp_path)


async def test_requests_awaited_together_become_one_batch() -> None:
    batches: list[list[int]] = []

    def double(batch: Sequence[int], _: threading.Event) -> list[int]:
        batches.append(list(batch))
        return [2 * number for number in batch]

    queue: BatchQueue[int, int] = BatchQueue(double, max_batch_size=3)
    assert await asyncio.gather(*(queue.submit(i) for i in range(5))) == [0, 2, 4, 6, 8]
    assert batches == [[0, 1, 2], [3, 4]]


async def test_a_failing_batch_fails_its_own_requests_only() -> None:
    def refuse_zero(batch: Sequence[int], _: threading.Event) -> list[int]:
        if 0 in batch:
            raise ValueError("zero")
        return list(batch)

    queue: BatchQueue[int, int] = BatchQueue(refuse_zero, max_batch_size=2)
    results = await asyncio.gather(*(queue.submit(i) for i in range(4)), return_exceptions=True)
    assert [isinstance(result, ValueError) for result in results] == [True, True, False, False]


def test_a_batch_is_told_to_stop_when_its_event_loop_ends() -> None:
    stopped = threading.Event()

    def wait_for_stop(batch: Sequence[int], stop: threading.Event) -> list[int]:
        if stop.wait(timeout=10):
            stopped.set()
        return list(batch)

    queue: BatchQueue[int, int] = BatchQueue(wait_for_stop, max_batch_size=2)

    async def give_up() -> None:
        await asyncio.wait_for(queue.submit(1), timeout=0.2)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert stopped.is_set()
