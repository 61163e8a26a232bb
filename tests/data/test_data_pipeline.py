"""Batches follow from the seed, resume in the middle of an epoch, and never hold what is held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from coding_framework.config import load_config
from coding_framework.cuda.checking import fixed_checks
from coding_framework.data.curriculum_manager import CurriculumManager
from coding_framework.data.data_pipeline import (
    CUDADataPipeline,
    DataPipelineState,
    TaskResults,
    TestCase,
    TrainingExample,
    Weights,
)
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task
from coding_framework.errors import ConfigError, UnknownTaskError, UserError
from coding_framework.records import (
    CompilationResult,
    Evaluation,
    Message,
    Task,
    Verdict,
)
from tests_support import EvaluationFactory

MAKE = EvaluationFactory()
NAMES = ("vector_add", "transpose", "matvec", "matmul", "softmax")
TASKS = tuple(get_task(name) for name in NAMES)
calls: Counter[str] = Counter()


def ask(task: Task) -> tuple[Message, ...]:
    calls[task.name] += 1
    return (Message(role="user", content=task.prompt),)


def pipeline(
    seed: int = 5, weights: Weights | None = None, state: DataPipelineState | None = None
) -> CUDADataPipeline:
    builders = {"generator": ask, "optimizer": ask}
    return CUDADataPipeline(TASKS, builders, seed=seed, held_out=("scale",), weights=weights, state=state)


def names(examples: Sequence[TrainingExample]) -> list[str]:
    return [example.task.name for example in examples]


def harder(tasks: Sequence[Task]) -> Sequence[float]:
    return [1.0 + task.tier for task in tasks]


def evaluation(task: str, *, passed: bool, speedup: float = 2.0) -> Evaluation:
    """A failed one never got to the compiler."""
    failed = MAKE.failed(Verdict.WRONG_RESULT).model_copy(update={"compilation": None})
    return (MAKE.passed(speedup) if passed else failed).model_copy(update={"task": task})


def test_every_task_comes_up_once_an_epoch_and_epochs_differ() -> None:
    first, second, third = (
        names(p) for p in [pipeline().get_training_batch(15)] for p in (p[:5], p[5:10], p[10:])
    )
    assert sorted(first) == sorted(second) == sorted(third) == sorted(NAMES)
    assert len({tuple(first), tuple(second), tuple(third)}) > 1


def test_a_seed_gives_the_same_order_and_another_seed_another() -> None:
    orders = [names(pipeline(seed).get_training_batch(20)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_examples_know_their_epoch_and_their_place() -> None:
    batch = pipeline().get_training_batch(7)
    assert [(e.epoch, e.position) for e in batch] == [*((0, n) for n in range(5)), (1, 0), (1, 1)]
    assert len({example.example_id for example in batch}) == 7


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    batches=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    cut=st.integers(0, 5),
    weighted=st.booleans(),
    results=st.lists(st.tuples(st.sampled_from(NAMES), st.booleans(), st.floats(0.1, 9)), max_size=5),
)
def test_a_pipeline_that_is_saved_anywhere_goes_on_bit_for_bit(
    seed: int, batches: list[int], cut: int, weighted: bool, results: list[tuple[str, bool, float]]
) -> None:
    weights = harder if weighted else None
    whole, before = pipeline(seed, weights), pipeline(seed, weights)
    for each in (whole, before):
        for name, passed, speedup in results:
            each.record_training_result(
                name, evaluation(name, passed=passed, speedup=speedup), reward=speedup
            )
    expected = [whole.get_training_batch(count) for count in batches]
    got = [before.get_training_batch(count) for count in batches[:cut]]
    saved = before.state.model_dump_json()
    after = pipeline(seed, weights, DataPipelineState.model_validate_json(saved))
    got += [after.get_training_batch(count) for count in batches[cut:]]
    assert [[e.example_id for e in batch] for batch in got] == [
        [e.example_id for e in batch] for batch in expected
    ]
    assert after.state == whole.state
    assert after.state.model_dump_json() == whole.state.model_dump_json()


def test_weights_decide_how_often_a_task_comes_up() -> None:
    def only_matmul(tasks: Sequence[Task]) -> Sequence[float]:
        return [float(task.name == "matmul") for task in tasks]

    assert set(names(pipeline(weights=only_matmul).get_training_batch(20))) == {"matmul"}
    counts = Counter(names(pipeline(weights=harder).get_training_batch(600)))
    assert counts["softmax"] > 1.8 * counts["vector_add"]


@pytest.mark.parametrize(
    "wrong", [[1.0], [0.0] * 5, [1.0, 1.0, 1.0, 1.0, -1.0], [float("nan")] * 5, [float("inf")] * 5]
)
def test_weights_that_mean_nothing_are_refused(wrong: list[float]) -> None:
    with pytest.raises(ConfigError, match="weights"):
        pipeline(weights=lambda tasks: wrong).get_training_batch(1)


def test_a_batch_holds_nothing_that_is_held_out() -> None:
    everything = CUDADataPipeline(all_tasks(), {"generator": ask}, seed=1, held_out=("gelu", "matmul"))
    drawn = everything.get_training_batch(2 * len(everything.tasks))
    assert not {example.task.family for example in drawn} & HELD_OUT_FAMILIES
    assert not {"gelu", "matmul"} & set(names(drawn))
    evaluated = everything.prepare_evaluation_set()
    assert not set(names(evaluated)) & set(names(drawn))
    assert {example.task.family for example in evaluated} >= HELD_OUT_FAMILIES
    assert {"gelu", "matmul"} <= set(names(evaluated))


def test_an_evaluation_set_is_the_same_every_time_and_moves_nothing() -> None:
    one = pipeline()
    before = one.state
    assert names(one.prepare_evaluation_set()) == names(one.prepare_evaluation_set())
    assert one.state == before
    assert all(example.split == "evaluation" for example in one.prepare_evaluation_set())


def test_a_pipeline_of_held_out_tasks_only_is_refused() -> None:
    with pytest.raises(ConfigError, match="every task is held out"):
        CUDADataPipeline([get_task("scale")], {}, seed=1, held_out=("scale",))


def test_test_cases_are_the_judges_runs_with_the_launches_of_the_baseline() -> None:
    (example,) = CUDADataPipeline([get_task("matmul")], {}, seed=1).get_training_batch(1)
    checks = fixed_checks(example.task)
    assert [(c.dimensions, c.distribution, c.hidden) for c in example.test_cases] == [
        (c.dimensions, c.distribution, c.hidden) for c in checks
    ]
    case = example.test_cases[0]
    assert case.dimensions == {"m": 64, "n": 64, "k": 64}
    assert [(launch.grid, launch.block) for launch in case.launches] == [((4, 4, 1), (16, 16, 1))]
    assert {case.hidden for case in example.test_cases} == {False, True}


def test_every_task_of_the_catalogue_has_cases_that_cover_its_shapes() -> None:
    everything = CUDADataPipeline(all_tasks(), {}, seed=1)
    for example in everything.get_training_batch(len(everything.tasks)):
        shapes = [case.dimensions for case in example.test_cases]
        for shape in (*example.task.visible_shapes, *example.task.hidden_shapes):
            assert shape in shapes
        for case in example.test_cases:
            assert all(min((*launch.grid, *launch.block)) >= 1 for launch in case.launches)


def test_a_test_case_goes_through_json() -> None:
    (example,) = pipeline().get_training_batch(1)
    for case in example.test_cases:
        assert TestCase.model_validate_json(case.model_dump_json()) == case


def test_prompts_of_every_agent_are_made_once_a_task() -> None:
    calls.clear()
    batch = pipeline().get_training_batch(15)
    assert set(batch[0].prompts) == {"generator", "optimizer"}
    assert set(calls.values()) == {2}


def test_results_are_counted_by_task() -> None:
    one = pipeline()
    one.record_training_result("matmul", evaluation("matmul", passed=True, speedup=3.0), reward=0.5)
    one.record_training_result("matmul", evaluation("matmul", passed=True, speedup=2.0))
    found = one.record_training_result("matmul", evaluation("matmul", passed=False), reward=0.1)
    assert (found.num_results, found.num_passed, found.best_speedup) == (3, 2, 3.0)
    assert found.pass_rate == pytest.approx(2 / 3)
    assert (found.reward_sum, found.num_rewards) == (pytest.approx(0.6), 2)
    assert one.state.results == {"matmul": found}


def test_a_result_that_compiled_and_was_wrong_counts_as_compiled() -> None:
    wrong = evaluation("matmul", passed=False)
    compiled = CompilationResult(
        success=False, compiler="nvrtc", toolkit="13", architecture="sm_90", duration_s=1
    )
    one = pipeline()
    assert one.record_training_result("matmul", wrong).num_compiled == 0
    unbuilt = wrong.model_copy(update={"compilation": compiled})
    assert one.record_training_result("matmul", unbuilt).num_compiled == 0
    assert one.record_training_result("matmul", evaluation("matmul", passed=True)).num_compiled == 1


def test_a_result_of_a_task_that_is_not_trained_on_is_refused() -> None:
    with pytest.raises(UnknownTaskError, match="scale"):
        pipeline().record_training_result("scale", evaluation("scale", passed=True))


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(UserError, match="at least one"):
        pipeline().get_training_batch(0)


def test_the_state_of_another_run_is_refused() -> None:
    state = pipeline(seed=1).state
    with pytest.raises(ConfigError, match="another seed or of other tasks"):
        pipeline(seed=2, state=state)
    with pytest.raises(ConfigError, match="another seed or of other tasks"):
        CUDADataPipeline(TASKS[:2], {}, seed=1, state=state)


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValidationError, match="what passed was compiled"):
        TaskResults(num_results=1, num_compiled=0, num_passed=1)


def test_a_pipeline_comes_from_a_config() -> None:
    config = load_config("quick")
    one = CUDADataPipeline.from_config(config, {"generator": ask})
    assert set(names(one.tasks and one.get_training_batch(3))) == set(config.tasks.train)
    assert set(config.tasks.held_out) <= set(names(one.prepare_evaluation_set()))


def test_a_curriculum_can_give_the_weights() -> None:
    manager = CurriculumManager(tasks=TASKS, held_out=("scale",), seed=1)
    drawn = names(pipeline(weights=manager.chances).get_training_batch(30))
    assert drawn == names(pipeline(weights=manager.chances).get_training_batch(30))
    assert "vector_add" in drawn
