"""vLLM's front: what is asked of the engine, what is kept of its answers, and what is said without it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from coding_framework.agents.models.chat_model import SamplingSettings
from coding_framework.agents.models.loading import load_tokenizer
from coding_framework.agents.models.open_model import embedded_name, open_chat_model
from coding_framework.agents.models.vllm_model import VLLMChatModel, _lora_settings, require_vllm
from coding_framework.errors import ModelNotFoundError, NotAvailableError, UserError
from coding_framework.records import AgentRole, Generation, GenerationRequest, Message
from tiny_model import write_tiny_model

HAS_VLLM = importlib.util.find_spec("vllm") is not None


class RecordingEngine:
    """Stands where `vllm.LLM` stands: remembers a batch and answers each prompt with two tokens."""

    def __init__(self) -> None:
        self.ended: list[bool] = []
        core = SimpleNamespace(shutdown=lambda: self.ended.append(True))
        self.llm_engine = SimpleNamespace(engine_core=core)
        self.batches: list[tuple[list[dict[str, Any]], list[Any], Any]] = []

    def generate(
        self, prompts: Any, sampling_params: Any, *, lora_request: Any, use_tqdm: bool
    ) -> Sequence[Any]:
        assert not use_tqdm
        self.batches.append((list(prompts), list(sampling_params), lora_request))
        seen = [{7: SimpleNamespace(logprob=-0.25)}, {2: SimpleNamespace(logprob=-1.0)}]
        answer = SimpleNamespace(text="ok", token_ids=[7, 2], logprobs=seen, finish_reason="stop")
        return [SimpleNamespace(outputs=[answer]) for _ in prompts]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def model_of(path: Path, engine: RecordingEngine, **adapters: Any) -> VLLMChatModel:
    return VLLMChatModel(
        engine,
        load_tokenizer(path),
        sampling_params=lambda **fields: fields,
        context_limit=100,
        settings=SamplingSettings(temperature=0.7, top_p=0.9),
        adapters=adapters,  # type: ignore[arg-type]
    )


def ask(words: str, agent: AgentRole = "generator", max_tokens: int = 6) -> GenerationRequest:
    return GenerationRequest(
        agent=agent, messages=(Message(role="user", content=words),), max_tokens=max_tokens
    )


def test_closing_ends_the_process_that_holds_the_card(model_path: Path) -> None:
    engine = RecordingEngine()
    model_of(model_path, engine).close()
    assert engine.ended == [True]


async def test_requests_become_one_batch_of_exact_ids(model_path: Path) -> None:
    engine = RecordingEngine()
    model = model_of(model_path, engine)
    first, second = await asyncio.gather(model.generate(ask("one")), model.generate(ask("two")))
    ((prompts, sampling, lora),) = engine.batches
    assert [tuple(prompt["prompt_token_ids"]) for prompt in prompts] == [
        first.prompt_token_ids,
        second.prompt_token_ids,
    ]
    assert (first.text, first.token_ids, first.log_probs) == ("ok", (7, 2), (-0.25, -1.0))
    assert first.finish_reason == "stop"
    assert lora is None
    wanted = {"temperature": 0.7, "top_p": 0.9, "top_k": -1, "max_tokens": 6, "logprobs": 0}
    assert {name: sampling[0][name] for name in wanted} == wanted
    assert sampling[0]["seed"] != sampling[1]["seed"]


async def test_each_agent_speaks_with_its_own_adapter(model_path: Path) -> None:
    engine = RecordingEngine()
    model = model_of(model_path, engine, optimizer="the optimizer's")
    agents: tuple[AgentRole, ...] = ("generator", "optimizer")
    await asyncio.gather(*(model.generate(ask("x", agent)) for agent in agents))
    assert engine.batches[0][2] == [None, "the optimizer's"]


async def test_a_prompt_beyond_the_context_is_refused_and_a_long_answer_is_bounded(model_path: Path) -> None:
    engine = RecordingEngine()
    model = model_of(model_path, engine)
    with pytest.raises(UserError, match="context holds 100"):
        await model.generate(ask("x" * 300))
    answer = await model.generate(ask("x", max_tokens=5000))
    assert engine.batches[0][1][0]["max_tokens"] == 100 - len(answer.prompt_token_ids)


@pytest.mark.skipif(HAS_VLLM, reason="vLLM is installed")
def test_without_vllm_the_error_says_what_to_do(model_path: Path) -> None:
    with pytest.raises(NotAvailableError, match="pip install vllm"):
        open_chat_model(f"vllm:{model_path}")


@pytest.mark.skipif(not HAS_VLLM, reason="vLLM is not installed")
def test_with_vllm_but_no_gpu_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(NotAvailableError, match="needs a GPU"):
        require_vllm()


def test_the_rank_of_the_largest_adapter_is_rounded_up_to_one_that_vllm_takes(tmp_path: Path) -> None:
    folders = []
    for rank in (4, 24):
        folder = tmp_path / str(rank)
        folder.mkdir()
        (folder / "adapter_config.json").write_text(json.dumps({"r": rank}))
        folders.append(folder)
    assert _lora_settings([]) == {}
    assert _lora_settings(folders) == {"enable_lora": True, "max_loras": 2, "max_lora_rank": 32}
    with pytest.raises(ModelNotFoundError, match="holds no adapter"):
        _lora_settings([tmp_path])


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_VLLM, reason="vLLM is not installed")
def test_a_real_engine_answers_with_ids_and_log_probabilities(tmp_path: Path) -> None:
    model = open_chat_model(f"vllm:{write_tiny_model(tmp_path)}", settings=SamplingSettings(temperature=1.0))
    answer: Generation = asyncio.run(model.generate(ask("hello")))
    assert 1 <= len(answer.token_ids) <= 6
    assert len(answer.log_probs) == len(answer.token_ids)
    assert all(log_prob <= 0 for log_prob in answer.log_probs)


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("smollm2", "smollm2-135m-instruct"),
        ("qwen2.5-coder", "qwen2.5-coder-1.5b-instruct"),
        ("smollm2-135m-instruct", "smollm2-135m-instruct"),
        ("owner/model", "owner/model"),
        ("", ""),
    ],
)
def test_the_beginning_of_an_embedded_models_name_is_enough(name: str, full: str) -> None:
    assert embedded_name(name) == full


def test_the_door_opens_a_folder(model_path: Path) -> None:
    model = open_chat_model(str(model_path), device="cpu", settings=SamplingSettings(temperature=0))
    answer = asyncio.run(model.generate(ask("hello")))
    assert len(answer.token_ids) == len(answer.log_probs)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "name a chat model"),
        ("openai:m", "write openai:MODEL@URL"),
        ("openai:@http://x/v1", "write openai:MODEL@URL"),
        ("openai:m@localhost", "write openai:MODEL@URL"),
        ("no_such_model", "no model called 'no_such_model'"),
    ],
)
def test_what_names_no_model_is_refused_with_what_could_be_meant(spec: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        open_chat_model(spec)


def test_a_server_takes_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="chooses its adapters itself"):
        open_chat_model("openai:m@http://localhost/v1", adapter=tmp_path)
