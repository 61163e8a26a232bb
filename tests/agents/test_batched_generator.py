"""The sampling loop, against the same model run token by token without any cache."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers

from coding_framework.agents.models.batched_generator import BatchedGenerator
from coding_framework.agents.models.sampling import choose_tokens
from coding_framework.errors import UserError

PROMPTS = [[5, 6, 7, 8], [5, 6, 9], [5, 6, 7, 8, 10, 11, 12], [5, 6, 7, 8], [40]]


class EndTokenOnly:
    """All that the generator asks of a tokenizer."""

    eos_token_id = 2


@pytest.fixture(scope="module")
def model() -> Any:
    torch.set_num_threads(1)  # so small a model only waits for further threads
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=101,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config).float().eval()


@pytest.fixture
def generator(model: Any) -> BatchedGenerator:
    return BatchedGenerator(model, EndTokenOnly(), "cpu")


def log_probs_without_cache(
    model: Any, prompt: list[int], answer: tuple[int, ...], temperature: float
) -> list[float]:
    with torch.no_grad():
        logits = model(torch.tensor([prompt + list(answer)])).logits[0].float() / temperature
    table = torch.log_softmax(logits, dim=-1)
    return [float(table[len(prompt) - 1 + i, token]) for i, token in enumerate(answer)]


def greedy_without_cache(model: Any, prompt: list[int], length: int) -> list[int]:
    ids = list(prompt)
    for _ in range(length):
        with torch.no_grad():
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(prompt) :]


def test_greedy_answers_equal_those_of_the_model_without_cache(
    model: Any, generator: BatchedGenerator
) -> None:
    answers = generator.generate(PROMPTS, max_new_tokens=12, temperature=0, stop_token_ids=[])
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        assert list(answer.token_ids) == greedy_without_cache(model, prompt, 12)


def test_log_probs_are_those_of_the_full_distribution_at_the_sampling_temperature(
    model: Any, generator: BatchedGenerator
) -> None:
    answers = generator.generate(
        PROMPTS, max_new_tokens=10, temperature=0.7, top_p=0.9, top_k=20, seed=3, stop_token_ids=[2]
    )
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        expected = log_probs_without_cache(model, prompt, answer.token_ids, 0.7)
        assert answer.log_probs == pytest.approx(expected, abs=1e-4)


def test_rows_that_end_early_leave_without_disturbing_the_others(
    model: Any, generator: BatchedGenerator
) -> None:
    limits = [9, 1, 4, 2, 12]
    answers = generator.generate(PROMPTS, max_new_tokens=limits, temperature=0, stop_token_ids=[])
    for prompt, answer, limit in zip(PROMPTS, answers, limits, strict=True):
        assert list(answer.token_ids) == greedy_without_cache(model, prompt, limit)
        assert answer.finish_reason == "length"


def test_a_stop_token_ends_its_row_and_is_kept(model: Any, generator: BatchedGenerator) -> None:
    expected = greedy_without_cache(model, PROMPTS[0], 12)
    stop = expected[4]
    answer = generator.generate([PROMPTS[0]], max_new_tokens=12, temperature=0, stop_token_ids=[stop])[0]
    assert list(answer.token_ids) == expected[: expected.index(stop) + 1]
    assert answer.finish_reason == "stop"


def test_one_seed_gives_one_result_and_another_seed_another(generator: BatchedGenerator) -> None:
    def sample(seed: int) -> list[tuple[int, ...]]:
        answers = generator.generate(PROMPTS, max_new_tokens=8, temperature=1.0, seed=seed, stop_token_ids=[])
        return [answer.token_ids for answer in answers]

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


def test_identical_prompts_are_sampled_independently(generator: BatchedGenerator) -> None:
    answers = generator.generate(
        [[5, 6, 7]] * 6, max_new_tokens=8, temperature=1.5, seed=0, stop_token_ids=[]
    )
    assert len({answer.token_ids for answer in answers}) > 1


def test_a_row_with_its_own_seed_does_not_depend_on_its_neighbours(generator: BatchedGenerator) -> None:
    alone = generator.generate([PROMPTS[2]], max_new_tokens=8, temperature=1.0, seed=[77], stop_token_ids=[])[
        0
    ]
    together = generator.generate(
        [PROMPTS[4], PROMPTS[2], PROMPTS[0]],
        max_new_tokens=8,
        temperature=1.0,
        seed=[5, 77, 6],
        stop_token_ids=[],
    )
    assert together[1].token_ids == alone.token_ids


def test_a_shared_prefix_is_computed_once(model: Any, generator: BatchedGenerator) -> None:
    tokens: list[int] = []
    hook = model.model.embed_tokens.register_forward_hook(lambda _, args, __: tokens.append(args[0].numel()))
    try:
        generator.generate(
            [[5, 6, 7, 8, 9]] * 4 + [[5, 6, 7, 8, 10, 11]], max_new_tokens=1, temperature=1.0, seed=0
        )
    finally:
        hook.remove()
    assert sum(tokens) == 5 + 2


def test_the_model_keeps_its_own_attention_for_training(model: Any, generator: BatchedGenerator) -> None:
    before = model.config._attn_implementation
    generator.generate(PROMPTS, max_new_tokens=2, temperature=1.0, seed=0)
    assert model.config._attn_implementation == before


def test_a_prompt_that_leaves_no_room_is_refused(generator: BatchedGenerator) -> None:
    with pytest.raises(UserError, match="64"):
        generator.generate([[5] * 64], max_new_tokens=1, temperature=1.0)


def test_an_answer_ends_where_the_context_ends(generator: BatchedGenerator) -> None:
    answer = generator.generate([[5] * 60], max_new_tokens=50, temperature=1.0, seed=0, stop_token_ids=[])[0]
    assert len(answer.token_ids) == 4


def test_sampled_frequencies_follow_the_distribution() -> None:
    probabilities = torch.tensor([0.5, 0.0, 0.2, 0.3] + [0.0] * 130)
    draws = 4000
    uniforms = (torch.arange(draws) + 0.5) / draws
    chosen, _ = choose_tokens(
        probabilities.log().repeat(draws, 1), uniforms, temperature=1.0, top_p=1.0, top_k=0
    )
    counts = torch.bincount(chosen, minlength=4)[:4].tolist()
    assert counts == pytest.approx([2000, 0, 800, 1200], abs=2)


@pytest.mark.parametrize(("top_p", "top_k", "allowed"), [(0.6, 0, {0, 3}), (1.0, 1, {0}), (0.95, 2, {0, 3})])
def test_top_p_and_top_k_leave_only_the_likeliest_tokens(top_p: float, top_k: int, allowed: set[int]) -> None:
    logits = torch.tensor([0.5, 0.05, 0.15, 0.3]).log().repeat(101, 1)
    chosen, log_probs = choose_tokens(
        logits, torch.linspace(0, 0.999, 101), temperature=1.0, top_p=top_p, top_k=top_k
    )
    assert set(chosen.tolist()) == allowed
    assert float(log_probs[0]) == pytest.approx(math.log(0.5), abs=1e-5)
