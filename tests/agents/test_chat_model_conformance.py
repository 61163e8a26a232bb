"""What every chat model must do, whoever runs the model: the suite of the seam `ChatModel`.

All of them have the same small model behind them: in this process, through the front of vLLM with an
engine of the same form, through a server that speaks chat completions, and through the example of a model of
one's own, which asks it again while its answers do not compile.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("httpx")

from chat_server import ChatServer, Reply, completion

from coding_framework.agents.models.batched_generator import BatchedGenerator
from coding_framework.agents.models.chat_model import ChatModel, SamplingSettings, TransformersChatModel
from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.agents.models.loading import load_causal_model, load_tokenizer
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.agents.models.openai_model import OpenAIChatModel, OpenAISettings
from coding_framework.agents.models.vllm_model import VLLMChatModel
from coding_framework.records import Generation, GenerationRequest, Message
from tiny_model import write_tiny_model

SETTINGS = SamplingSettings(temperature=1.0, seed=3)
WORDS = ("one", "two", "three", "two")


class LocalEngine:
    """The small model under the interface that is used of `vllm.LLM`."""

    def __init__(self, generator: BatchedGenerator) -> None:
        self._generator = generator

    def generate(
        self, prompts: Any, sampling_params: Any, *, lora_request: Any, use_tqdm: bool
    ) -> Sequence[Any]:
        sampled = self._generator.generate(
            [prompt["prompt_token_ids"] for prompt in prompts],
            max_new_tokens=[fields["max_tokens"] for fields in sampling_params],
            temperature=sampling_params[0]["temperature"],
            seed=[fields["seed"] for fields in sampling_params],
        )
        return [SimpleNamespace(outputs=[self._output(one)]) for one in sampled]

    def _output(self, one: Any) -> Any:
        seen = [
            {token: SimpleNamespace(logprob=value)}
            for token, value in zip(one.token_ids, one.log_probs, strict=True)
        ]
        text = self._generator.tokenizer.decode(one.token_ids, skip_special_tokens=True)
        return SimpleNamespace(
            text=text, token_ids=list(one.token_ids), logprobs=seen, finish_reason=one.finish_reason
        )


def completer(generator: BatchedGenerator) -> Callable[[dict[str, Any], int], Reply]:
    """The small model as a server's answers, with ids and log-probabilities as vLLM's server gives them."""
    lock = threading.Lock()

    def complete(body: dict[str, Any], _number: int) -> Reply:
        prompt = prompt_token_ids(generator.tokenizer, [Message(**message) for message in body["messages"]])
        with lock:
            (one,) = generator.generate(
                [prompt],
                max_new_tokens=body["max_tokens"],
                temperature=body["temperature"],
                seed=[body["seed"]],
            )
        words = generator.tokenizer.decode(one.token_ids, skip_special_tokens=True)
        text = completion(
            words,
            finish_reason=one.finish_reason,
            token_ids=list(one.token_ids),
            logprobs={"content": [{"token": "", "logprob": value} for value in one.log_probs]},
        )
        return 200, {}, json.dumps({**json.loads(text), "prompt_token_ids": prompt})

    return complete


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> BatchedGenerator:
    path: Path = write_tiny_model(tmp_path_factory.mktemp("tiny"))
    return BatchedGenerator(load_causal_model(path), load_tokenizer(path))


@pytest.fixture(params=["transformers", "vllm", "openai", "own"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(kind: str, generator: BatchedGenerator) -> Iterator[ChatServer | None]:
    if kind != "openai":
        yield None
        return
    one = ChatServer()
    one.answer = completer(generator)
    yield one
    one.close()


@pytest.fixture(autouse=True)
def example(kind: str, generator: BatchedGenerator, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the example of a model of one's own is found, and what it asks."""
    if kind == "own":
        monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "plugins")
        monkeypatch.setenv("COMPILING_ANSWERS_BASE", generator.tokenizer.name_or_path)
    yield
    sys.modules.pop("compiling_answers", None)


def open_model(kind: str, generator: BatchedGenerator, server: ChatServer | None) -> ChatModel:
    if kind == "transformers":
        return TransformersChatModel(generator, SETTINGS)
    if kind == "vllm":
        return VLLMChatModel(
            LocalEngine(generator),
            generator.tokenizer,
            sampling_params=lambda **fields: fields,
            context_limit=generator.context_limit,
            settings=SETTINGS,
        )
    if kind == "own":
        return open_chat_model("compiling_answers:compiling", settings=SETTINGS)
    assert server is not None
    return OpenAIChatModel(OpenAISettings(model="tiny", base_url=server.url), SETTINGS)


def ask(words: str, max_tokens: int = 6) -> GenerationRequest:
    messages = (Message(role="user", content=words),)
    return GenerationRequest(agent="generator", messages=messages, max_tokens=max_tokens)


async def answers(model: ChatModel, words: Sequence[str] = WORDS) -> list[Generation]:
    return list(await asyncio.gather(*(model.generate(ask(word)) for word in words)))


def test_answers_belong_to_their_requests_and_hold_exact_ids(
    kind: str, generator: BatchedGenerator, server: ChatServer | None
) -> None:
    got = asyncio.run(answers(open_model(kind, generator, server)))
    for word, answer in zip(WORDS, got, strict=True):
        prompt = prompt_token_ids(generator.tokenizer, (Message(role="user", content=word),))
        assert answer.prompt_token_ids == tuple(prompt)
        assert 1 <= len(answer.token_ids) <= 6
        assert len(answer.log_probs) == len(answer.token_ids)
        assert all(value <= 0 for value in answer.log_probs)
        assert answer.text == generator.tokenizer.decode(answer.token_ids, skip_special_tokens=True)


def test_a_cut_off_answer_says_so(kind: str, generator: BatchedGenerator, server: ChatServer | None) -> None:
    model = open_model(kind, generator, server)
    answer = asyncio.run(model.generate(ask("one", max_tokens=1)))
    ended = answer.token_ids[-1] in generator.default_stop_token_ids
    assert answer.finish_reason == ("stop" if ended else "length")


def test_the_same_seed_repeats_a_run_and_the_same_prompt_is_drawn_anew(
    kind: str, generator: BatchedGenerator, server: ChatServer | None
) -> None:
    first, second = (
        [answer.token_ids for answer in asyncio.run(answers(open_model(kind, generator, server)))]
        for _ in range(2)
    )
    if kind == "openai":  # which of two equal requests came first is the network's to say
        first, second = sorted(first), sorted(second)
    assert first == second
    assert len(set(first)) == len(WORDS)


def test_a_model_outlives_an_event_loop(
    kind: str, generator: BatchedGenerator, server: ChatServer | None
) -> None:
    model = open_model(kind, generator, server)
    for _ in range(2):
        assert len(asyncio.run(answers(model, ["again"]))) == 1
