"""Batches follow from the seed and the results, resume anywhere, and never hold what is held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.config import CurriculumConfig, CurriculumTier, FrameworkConfig, load_config
from coding_framework.cuda.checking import fixed_checks
from coding_framework.data.curriculum_manager import EpisodeOutcome
from coding_framework.data.data_pipeline import (
    CUDADataPipeline,
    DataPipelineState,
    TestCase,
    TrainingExample,
)
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task
from coding_framework.data.tasks.split import training_tasks
from coding_framework.errors import ConfigError, UnknownTaskError, UserError
from coding_framework.records import Message, Task

NAMES = ("vector_add", "transpose", "matvec", "matmul", "softmax")
TASKS = tuple(get_task(name) for name in NAMES)
EASY = CurriculumConfig(
    tiers=tuple(
        CurriculumTier(
            name=f"rung {tier}",
            catalogue_tiers=(tier,),
            min_compile_rate=0.3,
            min_success_rate=0.2,
            min_episodes=6,
        )
        for tier in range(4)
    ),
    window=12,
    demotion_window=10,
)
WRONG = EpisodeOutcome(compiled=True, passed=False)
RIGHT = EpisodeOutcome(compiled=True, passed=True, speedup=2.0, time_kind="modelled")
calls: Counter[str] = Counter()


def ask(task: Task) -> tuple[Message, ...]:
    calls[task.name] += 1
    return (Message(role="user", content=task.prompt),)


def pipeline(
    seed: int = 5, curriculum: CurriculumConfig | None = None, state: DataPipelineState | None = None
) -> CUDADataPipeline:
    builders = {"generator": ask, "optimizer": ask}
    return CUDADataPipeline(
        TASKS, builders, seed=seed, held_out=("scale",), curriculum=curriculum, state=state
    )


def names(examples: Sequence[TrainingExample]) -> list[str]:
    return [example.task.name for example in examples]


def outcome(*, passed: bool) -> EpisodeOutcome:
    return RIGHT if passed else WRONG


def test_every_task_comes_up_once_an_epoch_and_epochs_differ() -> None:
    first, second, third = (
        names(p) for p in [pipeline().get_training_batch(15)] for p in (p[:5], p[5:10], p[10:])
    )
    assert sorted(first) == sorted(second) == sorted(third) == sorted(NAMES)
    assert len({tuple(first), tuple(second), tuple(third)}) > 1


def test_the_uniform_order_is_the_one_that_runs_have_had_from_the_beginning() -> None:
    """So that one that was begun with an earlier version can be compared."""
    assert names(pipeline(seed=17).get_training_batch(12)) == [
        *("matmul", "vector_add", "matvec", "softmax", "transpose"),
        *("softmax", "vector_add", "transpose", "matvec", "matmul"),
        *("softmax", "matvec"),
    ]


def test_a_curriculum_that_is_switched_off_is_the_uniform_order() -> None:
    off = CurriculumConfig(enabled=False)
    assert names(pipeline(curriculum=off).get_training_batch(12)) == names(pipeline().get_training_batch(12))


def test_a_seed_gives_the_same_order_and_another_seed_another() -> None:
    orders = [names(pipeline(seed).get_training_batch(20)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_examples_know_their_epoch_their_place_and_how_often_their_task_came() -> None:
    batch = pipeline().get_training_batch(7)
    assert [(e.epoch, e.position) for e in batch] == [*((0, n) for n in range(5)), (1, 0), (1, 1)]
    assert [e.visit for e in batch] == [0] * 5 + [1] * 2
    assert len({example.example_id for example in batch}) == 7


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    batches=st.lists(st.integers(1, 7), min_size=1, max_size=8),
    cut=st.integers(0, 7),
    chosen=st.booleans(),
    luck=st.integers(0, 99),
)
def test_a_pipeline_that_is_saved_anywhere_goes_on_bit_for_bit(
    seed: int, batches: list[int], cut: int, chosen: bool, luck: int
) -> None:
    curriculum = EASY if chosen else None

    def trained(one: CUDADataPipeline, first: int, last: int) -> list[str]:
        drawn = []
        for number in range(first, min(last, len(batches))):
            for example in one.get_training_batch(batches[number]):
                drawn.append(f"{example.example_id} {example.visit} {example.learnability}")
                passed = Random(f"{luck}/{example.example_id}/{example.visit}").random() < 0.8
                one.record_training_result(example.task.name, outcome(passed=passed), step=number)
        return drawn

    whole, before = pipeline(seed, curriculum), pipeline(seed, curriculum)
    expected = trained(whole, 0, len(batches))
    got = trained(before, 0, cut)
    saved = before.state.model_dump_json()
    after = pipeline(seed, curriculum, DataPipelineState.model_validate_json(saved))
    got += trained(after, cut, len(batches))
    assert got == expected
    assert after.state.model_dump_json() == whole.state.model_dump_json()


def test_a_curriculum_begins_with_its_first_tier_and_goes_on_to_the_next_when_that_is_proven() -> None:
    one = pipeline(curriculum=EASY)
    assert set(names(one.get_training_batch(6))) == {"vector_add"}
    changes = [one.record_training_result("vector_add", RIGHT, step=step) for step in range(6)]
    assert [change.to_tier if change else None for change in changes] == [None] * 5 + ["rung 1"]
    drawn = Counter(names(one.get_training_batch(100)))
    assert set(drawn) == {"vector_add", "transpose", "matvec"}
    assert drawn["vector_add"] < 40, "it is reviewed now and then"


def test_learnability_draws_what_is_half_mastered_three_times_as_often_as_what_is_mastered_or_hopeless() -> (
    None
):
    """A simulated run: tasks of one tier that pass always, half of the time and never."""
    tasks = [task for task in training_tasks(load_config(None).tasks) if task.tier == 0]
    chance = {task.name: (1.0, 0.5, 0.0)[place % 3] for place, task in enumerate(tasks)}
    hard_to_leave = CurriculumConfig(tiers=(EASY.tiers[0].model_copy(update={"min_success_rate": 0.9}),))
    one = CUDADataPipeline(tasks, seed=3, curriculum=hard_to_leave.model_copy(update={"window": 200}))
    luck, drawn, learnability = Random(1), Counter[float](), {0.0: 0.0, 0.5: 0.0, 1.0: 0.0}
    for step in range(150):
        for example in one.get_training_batch(4):
            rate = chance[example.task.name]
            if step >= 50:
                drawn[rate] += 1
                assert example.learnability is not None
                learnability[rate] += example.learnability
            for _ in range(4):
                passed = luck.random() < rate
                one.record_training_result(example.task.name, outcome(passed=passed), step=step)
    share = {rate: drawn[rate] / sum(one == rate for one in chance.values()) for rate in (0.0, 0.5, 1.0)}
    assert share[0.5] > 3 * share[1.0] > 0, "of a task"
    assert share[0.5] > 3 * share[0.0] > 0, "of a task"
    assert learnability[0.5] / drawn[0.5] > 0.85


def test_a_fault_of_the_judge_is_counted_and_changes_nothing_else() -> None:
    one = pipeline(curriculum=EASY)
    before = one.state
    one.record_fault("vector_add")
    assert before.curriculum is not None
    assert one.state.curriculum == before.curriculum.model_copy(update={"faults": 1})


def test_tiers_hold_only_the_tasks_that_may_be_trained_on() -> None:
    one = pipeline(curriculum=EASY.model_copy(update={"tiers": EASY.tiers[1:2]}))
    assert set(names(one.get_training_batch(30))) == {"transpose", "matvec"}
    assert {task.name for task in one.tasks} == {"transpose", "matvec"}
    with pytest.raises(UnknownTaskError, match="vector_add"):
        one.record_training_result("vector_add", RIGHT)


@pytest.mark.parametrize("preset", ["three_tiers", "four_tiers"])
def test_a_batch_of_a_preset_holds_nothing_that_is_held_out(preset: str) -> None:
    """All tiers are climbed, so that everything comes up."""
    config = FrameworkConfig.model_validate({"curriculum": {"preset": preset}})
    one = CUDADataPipeline.from_config(config)
    allowed = {task.name for task in training_tasks(config.tasks)}
    fast = RIGHT.model_copy(update={"speedup": 3.0})
    seen = set()
    for step in range(150):
        for example in one.get_training_batch(8):
            seen.add(example.task.name)
            one.record_training_result(example.task.name, fast, step=step)
    assert one.curriculum is not None
    assert one.curriculum.mastered
    assert seen <= allowed
    assert {get_task(name).tier for name in seen} == {0, 1, 2, 3}


def test_a_batch_holds_nothing_that_is_held_out() -> None:
    everything = CUDADataPipeline(all_tasks(), {"generator": ask}, seed=1, held_out=("gelu", "matmul"))
    drawn = everything.get_training_batch(2 * len(everything.tasks))
    assert not {example.task.family for example in drawn} & HELD_OUT_FAMILIES
    assert not {"gelu", "matmul"} & set(names(drawn))


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


def test_a_result_of_a_task_that_is_not_trained_on_is_refused() -> None:
    with pytest.raises(UnknownTaskError, match="scale"):
        pipeline().record_training_result("scale", RIGHT)
    with pytest.raises(UnknownTaskError, match="scale"):
        pipeline().record_fault("scale")


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(UserError, match="at least one"):
        pipeline().get_training_batch(0)


def test_the_state_of_another_run_is_refused() -> None:
    state = pipeline(seed=1).state
    with pytest.raises(ConfigError, match="another seed"):
        pipeline(seed=2, state=state)
    with pytest.raises(ConfigError, match="of other tasks"):
        CUDADataPipeline(TASKS[:2], {}, seed=1, state=state)
    with pytest.raises(ConfigError, match="another curriculum"):
        pipeline(seed=1, curriculum=EASY, state=state)
    other = EASY.model_copy(update={"review_share": 0.5})
    with pytest.raises(ConfigError, match="another curriculum"):
        pipeline(seed=1, curriculum=other, state=pipeline(seed=1, curriculum=EASY).state)


def test_a_pipeline_comes_from_a_config() -> None:
    config = load_config("quick")
    one = CUDADataPipeline.from_config(config, {"generator": ask})
    assert set(names(one.get_training_batch(200))) == set(config.tasks.train)
    assert one.curriculum is not None
    tasks = 'tasks.train=["vector_add", "transpose", "matvec"]'
    plain = CUDADataPipeline.from_config(load_config("quick", ["curriculum.enabled=false", tasks]))
    assert plain.curriculum is None
    assert set(names(plain.get_training_batch(3))) == {"vector_add", "transpose", "matvec"}
    climbing = load_config("cpu", [tasks])
    assert set(names(CUDADataPipeline.from_config(climbing).get_training_batch(20))) == {"vector_add"}
