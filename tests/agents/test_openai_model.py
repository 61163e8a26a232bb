"""The client for OpenAI-compatible servers, against a real HTTP server in this process."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx")

from chat_server import ChatServer, Reply, completion, refusal

from coding_framework.agents.models.chat_model import SamplingSettings
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.agents.models.openai_model import OpenAIChatModel, OpenAISettings
from coding_framework.errors import NotAvailableError, UserError
from coding_framework.records import Generation, GenerationRequest, Message

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    one = ChatServer()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def model_of(
    server: ChatServer, *, sampling: SamplingSettings | None = None, **changes: Any
) -> OpenAIChatModel:
    settings = {"model": "m", "base_url": server.url, "first_pause_s": 0.01, "max_attempts": 3, **changes}
    return OpenAIChatModel(OpenAISettings(**settings), sampling)


def ask(words: str = "hi") -> GenerationRequest:
    return GenerationRequest(
        agent="generator",
        messages=(Message(role="system", content="Be brief."), Message(role="user", content=words)),
        max_tokens=7,
    )


async def answer(model: OpenAIChatModel, words: str = "hi") -> Generation:
    try:
        return await model.generate(ask(words))
    finally:
        await model.aclose()


async def test_a_request_is_a_chat_completion_with_the_sampling_settings(server: ChatServer) -> None:
    sampling = SamplingSettings(temperature=0.3, top_p=0.9, top_k=5)
    generation = await answer(model_of(server, sampling=sampling))
    assert (generation.text, generation.finish_reason, generation.token_ids) == ("hello", "stop", ())
    (body,) = server.bodies
    assert server.paths == ["/v1/chat/completions"]
    assert body["model"] == "m"
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert (body["max_tokens"], body["temperature"], body["top_p"], body["top_k"]) == (7, 0.3, 0.9, 5)
    assert server.keys == [f"Bearer {KEY}"]


async def test_token_ids_and_log_probabilities_are_kept_where_both_are_given(
    server: ChatServer,
) -> None:
    log_probs = {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.5}]}
    body = {**json.loads(completion(finish_reason="length", token_ids=[4, 9], logprobs=log_probs))}
    server.answer = lambda _body, _number: (200, {}, json.dumps({**body, "prompt_token_ids": [1, 2, 3]}))
    generation = await answer(model_of(server))
    assert generation.prompt_token_ids == (1, 2, 3)
    assert generation.token_ids == (4, 9)
    assert generation.log_probs == (-0.5, -1.5)
    assert generation.finish_reason == "length"
    assert server.bodies[0]["logprobs"] is True
    assert server.bodies[0]["return_token_ids"] is True


async def test_log_probabilities_without_ids_are_left_out(server: ChatServer) -> None:
    log_probs = {"content": [{"token": "a", "logprob": -0.5}]}
    server.answer = lambda _body, _number: (200, {}, completion(logprobs=log_probs))
    assert (await answer(model_of(server))).log_probs == ()


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_what_may_pass_is_tried_again(server: ChatServer, status: int) -> None:
    server.answer = lambda _body, number: (
        (status, {}, refusal("busy")) if number < 3 else (200, {}, completion())
    )
    assert (await answer(model_of(server))).text == "hello"
    assert len(server.bodies) == 3


async def test_a_server_that_stays_busy_is_given_up_with_its_words(server: ChatServer) -> None:
    server.answer = lambda _body, _number: (503, {}, refusal("the model is loading"))
    with pytest.raises(NotAvailableError, match=r"in 3 attempts: status 503: the model is loading"):
        await answer(model_of(server))


async def test_the_pause_that_a_server_asks_for_is_kept(server: ChatServer) -> None:
    server.answer = lambda _body, number: (
        (429, {"retry-after": "0.3"}, refusal("slow down")) if number == 1 else (200, {}, completion())
    )
    started = time.monotonic()
    await answer(model_of(server))
    assert time.monotonic() - started >= 0.3


async def test_a_slow_answer_is_given_up_and_tried_again(server: ChatServer) -> None:
    def slow_at_first(_body: dict[str, Any], number: int) -> Reply:
        if number == 1:
            time.sleep(0.6)
        return 200, {}, completion()

    server.answer = slow_at_first
    assert (await answer(model_of(server, timeout_s=0.3))).text == "hello"
    assert len(server.bodies) == 2


async def test_a_wrong_key_is_said_at_once_without_showing_it(server: ChatServer) -> None:
    server.answer = lambda _body, _number: (401, {}, refusal(f"Incorrect API key provided: {KEY}"))
    with pytest.raises(UserError, match="OPENAI_API_KEY, which is set") as caught:
        await answer(model_of(server))
    assert KEY not in str(caught.value)
    assert len(server.bodies) == 1


async def test_a_missing_key_is_said_and_none_is_sent(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server.answer = lambda _body, _number: (401, {}, refusal("You didn't provide an API key."))
    with pytest.raises(UserError, match="which is not set"):
        await answer(model_of(server))
    assert server.keys == [None]


async def test_an_unknown_model_is_said(server: ChatServer) -> None:
    server.answer = lambda _body, _number: (404, {}, refusal("The model `m` does not exist"))
    with pytest.raises(UserError, match=r"knows no model 'm'.*ends in /v1"):
        await answer(model_of(server))


async def test_a_used_up_quota_is_not_tried_again(server: ChatServer) -> None:
    server.answer = lambda _body, _number: (429, {}, refusal("You exceeded it", code="insufficient_quota"))
    with pytest.raises(UserError, match="quota is used up"):
        await answer(model_of(server))
    assert len(server.bodies) == 1


async def test_a_server_that_is_not_there_is_said(server: ChatServer) -> None:
    url = server.url
    server.close()
    settings = OpenAISettings(model="m", base_url=url, first_pause_s=0.01, max_attempts=2)
    with pytest.raises(NotAvailableError, match="is it running"):
        await answer(OpenAIChatModel(settings))


async def test_fields_that_a_server_does_not_know_are_left_out_from_then_on(server: ChatServer) -> None:
    def strict(body: dict[str, Any], _number: int) -> Reply:
        if "return_token_ids" in body:
            return 400, {}, refusal("Unrecognized request argument supplied: return_token_ids")
        if "logprobs" in body:
            return 422, {}, json.dumps({"detail": [{"loc": ["body", "logprobs"], "msg": "not permitted"}]})
        return 200, {}, completion()

    server.answer = strict
    model = model_of(server)
    assert (await model.generate(ask())).text == "hello"
    assert len(server.bodies) == 3
    assert (await answer(model)).text == "hello"
    assert len(server.bodies) == 4
    assert server.bodies[-1]["seed"] >= 0


async def test_a_request_that_is_refused_for_good_says_why(server: ChatServer) -> None:
    server.answer = lambda _body, _number: (400, {}, refusal("maximum context length is 2048 tokens"))
    with pytest.raises(UserError, match="maximum context length"):
        await answer(model_of(server))
    assert len(server.bodies) == 1


@pytest.mark.parametrize("body", ["<html>", "{}", '{"choices": []}', '{"choices": [{"text": "x"}]}', "[]"])
async def test_an_answer_that_is_no_completion_is_no_crash(server: ChatServer, body: str) -> None:
    server.answer = lambda _body, _number: (200, {}, body)
    with pytest.raises(NotAvailableError, match="no chat completion"):
        await answer(model_of(server))


async def test_an_answer_without_words_is_empty(server: ChatServer) -> None:
    server.answer = lambda _body, _number: (
        200,
        {},
        completion(message={"role": "assistant", "content": None}),
    )
    assert (await answer(model_of(server))).text == ""


async def test_no_more_requests_at_a_time_than_allowed(server: ChatServer) -> None:
    def slow(_body: dict[str, Any], _number: int) -> Reply:
        time.sleep(0.05)
        return 200, {}, completion()

    server.answer = slow
    model = model_of(server, max_concurrency=2)
    await asyncio.gather(*(model.generate(ask(str(i))) for i in range(6)))
    await model.aclose()
    assert len(server.bodies) == 6
    assert server.most_at_once == 2


def test_a_model_serves_one_event_loop_after_another_and_repeats_its_seeds(server: ChatServer) -> None:
    model = model_of(server)
    for _ in range(2):
        asyncio.run(answer(model))
    asyncio.run(answer(model_of(server)))
    first, second, again = (body["seed"] for body in server.bodies)
    assert first != second
    assert first == again


async def test_the_door_opens_a_server(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "abc")
    model = open_chat_model(f"openai:org/name@{server.url}", api_key_variable="OTHER_KEY")
    assert isinstance(model, OpenAIChatModel)
    assert (await answer(model)).text == "hello"
    assert server.bodies[0]["model"] == "org/name"
    assert server.keys == ["Bearer abc"]


def test_the_official_client_understands_the_server_of_these_tests(server: ChatServer) -> None:
    """So that what is tested here is the format and not our idea of it."""
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0)
    messages = [{"role": "user", "content": "hi"}]
    got = client.chat.completions.create(model="m", messages=messages, max_tokens=7, logprobs=True)
    assert got.choices[0].message.content == "hello"
    assert got.choices[0].finish_reason == "stop"
    server.answer = lambda _body, _number: (401, {}, refusal("Incorrect API key"))
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(model="m", messages=messages)
    server.answer = lambda _body, _number: (429, {}, refusal("slow down"))
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="m", messages=messages)
