"""Prompts say what is needed within their budget, and nothing about hidden shapes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from coding_framework.agents import prompts
from coding_framework.agents.feedback import MAX_FEEDBACK_CHARS, feedback
from coding_framework.agents.models.store import resolve_model
from coding_framework.agents.prompt_budget import MAX_PROMPT_TOKENS, estimated_tokens, fit_lines
from coding_framework.agents.prompts import (
    SYSTEM,
    generator_messages,
    optimizer_messages,
    turn_agent,
)
from coding_framework.agents.strategies import Strategy, StrategyOutcome
from coding_framework.agents.system_prompts import GENERATOR_SYSTEM, OPTIMIZER_SYSTEM
from coding_framework.data.tasks import all_tasks, get_task, variants
from coding_framework.errors import ModelNotFoundError
from coding_framework.records import Candidate, Evaluation, Message, ModuleTask, Verdict
from tests_support import EvaluationFactory

TESTS = Path(__file__).parent.parent
MODULE = ModuleTask(name="relu", source=(TESTS / "cheats" / "problems" / "scaled_relu.py").read_text("utf-8"))
TRIED = tuple(
    StrategyOutcome(strategy=strategy, turn=turn, speedup=1.0 + turn, verdict=Verdict.PASSED)
    for turn in range(6)
    for strategy in list(Strategy)[turn : turn + 3]
)


@cache
def tokenizer() -> Any:
    """SmolLM2's own, where it was fetched."""
    pytest.importorskip("transformers")
    from coding_framework.agents.models.loading import load_tokenizer

    try:
        return load_tokenizer(resolve_model("smollm2-135m-instruct"))
    except ModelNotFoundError as error:
        pytest.skip(str(error))


def num_tokens(messages: tuple[Message, ...]) -> int:
    from coding_framework.agents.models.chat_template import prompt_token_ids

    return len(prompt_token_ids(tokenizer(), messages))


def with_source(evaluation: Evaluation, source: str) -> Evaluation:
    return evaluation.model_copy(update={"candidate": Candidate(source=source)})


def long_source(num_lines: int) -> str:
    """The densest honest code: indices and constants."""
    body = "\n".join(f"    t{i} = fmaf(a[{i} * k + p], b[p * n + {i + 7}], t{i});" for i in range(num_lines))
    return f'// launch: k grid=(1) block=(32)\nextern "C" __global__ void k() {{\n{body}\n}}\n'


def words(messages: tuple[Message, ...]) -> str:
    return messages[-1].content


def test_the_generator_gets_the_contract_and_the_task_and_nothing_hidden() -> None:
    for task in all_tasks():
        system, user = generator_messages(task)
        assert (system.role, system.content, user.role) == ("system", SYSTEM, "user")
        assert task.prompt.strip() in user.content
        for name in task.dimensions:
            assert name in user.content.rpartition("Dimensions (int):")[2]


@pytest.mark.parametrize("contract", ["kernel", "extension", "module"])
def test_every_contract_has_a_system_prompt_that_names_what_it_needs(contract: str) -> None:
    needed = {"kernel": "// launch:", "extension": "PYBIND11_MODULE", "module": "class ModelNew"}[contract]
    assert needed in GENERATOR_SYSTEM[contract]  # type: ignore[index]
    assert needed in OPTIMIZER_SYSTEM[contract]  # type: ignore[index]


def test_a_module_is_asked_for_as_a_module_or_as_an_extension() -> None:
    as_module, as_extension = generator_messages(MODULE), generator_messages(MODULE, "extension")
    assert "ModelNew" in as_module[0].content
    assert "PYBIND11_MODULE" in as_extension[0].content
    assert "class Model(nn.Module)" in words(as_module)


def test_the_optimizer_sees_the_kernel_the_verdict_and_what_to_do(evaluations: EvaluationFactory) -> None:
    task = get_task("scale")
    failed = evaluations.failed(Verdict.COMPILE_ERROR)
    repair = words(optimizer_messages(task, failed, None))
    assert "// kernel" in repair
    assert "It does not compile." in repair
    assert repair.endswith("Write it correctly.")
    passed = evaluations.passed(1.5)
    assert words(optimizer_messages(task, passed, passed)).endswith("Write it faster.")


def test_the_best_kernel_is_shown_when_a_later_attempt_failed(evaluations: EvaluationFactory) -> None:
    best = with_source(evaluations.passed(1.5), "// the best one")
    last = with_source(evaluations.failed(Verdict.DEADLOCK), "// the last one")
    shown = words(optimizer_messages(get_task("scale"), last, best, TRIED))
    assert "// the best one" in shown
    assert "// the last one" not in shown
    assert "A later attempt was worse: It is deadlock" in shown
    assert "Already tried:" in shown
    assert shown.index("1.50x") < shown.index("A later attempt")


def test_an_answer_without_code_is_repaired_from_its_reason(evaluations: EvaluationFactory) -> None:
    shown = words(optimizer_messages(get_task("scale"), evaluations.failed(Verdict.NO_CANDIDATE), None))
    assert "Your kernel" not in shown
    assert "It is no_candidate" in shown


def test_the_tester_is_told_what_was_tested_and_how_to_answer() -> None:
    task = get_task("row_sum")
    system, user = prompts.tester_messages(task, Candidate(source=task.baseline))
    assert "// test:" in system.content
    assert task.baseline.strip() in user.content
    assert all(name in user.content for name in task.distributions)
    told = set(re.findall(r"\b(?:rows|cols)=(\d+)", user.content))
    visible = {str(size) for shape in task.visible_shapes for size in shape.values()}
    assert told == visible


def test_generator_opens_and_optimizer_follows() -> None:
    assert [turn_agent(index) for index in range(3)] == ["generator", "optimizer", "optimizer"]


def test_the_estimate_is_an_upper_bound_on_every_kernel_and_prompt() -> None:
    texts = [task.prompt for task in all_tasks()]
    texts += [variant.source for task in all_tasks() for variant in variants(task.name)]
    texts += [path.read_text("utf-8") for path in sorted((TESTS / "honest").glob("*.cu"))]
    texts += [*GENERATOR_SYSTEM.values(), MODULE.source, long_source(40)]
    ratios = {text[:60]: estimated_tokens(text) / len(tokenizer()(text).input_ids) for text in texts}
    assert min(ratios.values()) >= 1.0, min(ratios, key=lambda text: ratios[text])
    assert max(ratios.values()) < 1.6


@pytest.mark.parametrize("num_lines", [10, 60, 400])
def test_the_longest_prompt_fits_into_its_budget(evaluations: EvaluationFactory, num_lines: int) -> None:
    """The longest task of the catalogue, a source of any length, feedback and history at their limits."""
    task = max(all_tasks(), key=lambda task: len(tokenizer()(task.prompt).input_ids))
    long_words = "a[i * 17 + 3] is 0.123456 but y[12] was 1e-05; " * 40
    profile = evaluations.profile(bottleneck=long_words)
    best = with_source(evaluations.passed(1.5, profile=profile), long_source(num_lines))
    last = evaluations.failed(Verdict.CRASHED).model_copy(update={"message": long_words})
    for messages in (
        optimizer_messages(task, last, best, TRIED),
        prompts.tester_messages(task, Candidate(source=long_source(num_lines))),
        generator_messages(task),
    ):
        assert num_tokens(messages) <= MAX_PROMPT_TOKENS
    assert len(feedback(task, best)) <= MAX_FEEDBACK_CHARS


@pytest.mark.parametrize("max_tokens", [900, 1024, 4096])
def test_a_smaller_budget_is_kept_as_well(evaluations: EvaluationFactory, max_tokens: int) -> None:
    task = get_task("matmul")
    profile = evaluations.profile(bottleneck="Bound by latency: " + "32 blocks of 4 warps; " * 60)
    best = with_source(evaluations.passed(1.5, profile=profile), long_source(400))
    messages = optimizer_messages(task, best, best, TRIED, max_tokens=max_tokens)
    assert 0.6 * max_tokens < num_tokens(messages) <= max_tokens


def test_modules_fit_too(evaluations: EvaluationFactory) -> None:
    long = MODULE.model_copy(update={"source": MODULE.source + long_source(300).replace("//", "#")})
    last = evaluations.failed(Verdict.CRASHED)
    shown = last.model_copy(update={"candidate": Candidate(source=long_source(200), contract="module")})
    assert num_tokens(optimizer_messages(long, shown, None)) <= MAX_PROMPT_TOKENS
    assert "lines left out" in words(generator_messages(long))


def test_a_cut_source_says_how_many_lines_are_missing() -> None:
    text = "\n".join(f"line {i}" for i in range(100))
    cut = fit_lines(text, 60)
    kept = cut.splitlines()[:-1]
    assert cut.splitlines()[-1] == f"// … ({100 - len(kept)} lines left out)"
    assert kept == text.splitlines()[: len(kept)]
    assert estimated_tokens(cut) <= 60
    assert fit_lines("short", 60) == "short"
