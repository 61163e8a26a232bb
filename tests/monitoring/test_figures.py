"""Every figure is what a plain calculation over the stored samples gives."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.errors import UserError
from coding_framework.monitoring.figure_records import EvaluationReport, ModelFigures
from coding_framework.monitoring.figures import figures_in, figures_of
from coding_framework.records import REFUSED_AS_HACKS, EvaluationSample, SampleTurn, Verdict
from evaluation_support import Outcomes, failed, head, passed, sample, samples_of, task, write

TASKS = (task("a"), task("b"), task("c", tier=1), task("d", split="trained"))
A_TURN = st.one_of(
    st.floats(0.3, 4).map(passed),
    st.sampled_from([0.8, 1.0, 1.2, 1.5, 2.0]).map(passed),
    st.sampled_from([Verdict.COMPILE_ERROR, Verdict.UNSAFE, Verdict.NO_CANDIDATE, Verdict.TOO_FAST]).map(
        failed
    ),
    st.booleans().map(lambda hidden: failed(Verdict.WRONG_RESULT, hidden=hidden)),
)
A_SAMPLE = st.lists(A_TURN, min_size=1, max_size=3)
OUTCOMES = st.integers(1, 4).flatmap(
    lambda n: st.fixed_dictionaries({one: st.lists(A_SAMPLE, min_size=n, max_size=n) for one in TASKS})
)


def plain_best(turns: list[SampleTurn]) -> SampleTurn | None:
    """The fastest turn that passed."""
    found = [turn for turn in turns if turn.speedup is not None]
    return sorted(found, key=lambda turn: -(turn.speedup or 0))[0] if found else None


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@settings(max_examples=30, deadline=None)
@given(OUTCOMES, st.data())
def test_figures_equal_a_plain_calculation(outcomes: Outcomes, data: st.DataObject) -> None:
    n = len(outcomes[TASKS[0]])
    k = data.draw(st.integers(1, n))
    model = figures_of(head(TASKS, n), samples_of(outcomes), [k])
    for split, tier, names in (("held_out", None, "abc"), ("held_out", 1, "c"), ("trained", None, "d")):
        group = model.group(split, tier)  # type: ignore[arg-type]
        assert group is not None
        own = [[list(turns) for turns in outcomes[one]] for one in TASKS if one.name in names]
        best = [[plain_best(turns) for turns in of_task] for of_task in own]
        tries = [list(combinations(of_task, k)) for of_task in best]
        assert group.best.pass_at[k].value == pytest.approx(
            mean(
                [mean([float(any(one is not None for one in some)) for some in choices]) for choices in tries]
            )
        )
        for p, estimate in group.best.fast.items():
            fast = [[one is not None and (one.speedup or 0) > p for one in of_task] for of_task in best]
            assert estimate.value == pytest.approx(
                mean([mean([float(one) for one in own_]) for own_ in fast])
            )
            assert estimate.low <= estimate.value <= estimate.high
        speedups = [one.speedup or 0 for of_task in best for one in of_task if one]
        geometric = group.best.geometric_mean_speedup
        assert (geometric is None) == (not speedups)
        if geometric is not None:
            assert geometric.value == pytest.approx(prod(speedups) ** (1 / len(speedups)))
        turns = [turn for of_task in own for one in of_task for turn in one]
        compiled = [[any(turn.compiled for turn in one) for one in of_task] for of_task in own]
        assert group.best.compile_rate.value == pytest.approx(
            mean([mean([float(c) for c in o]) for o in compiled])
        )
        visible = [
            t for t in turns if t.verdict in (Verdict.PASSED, Verdict.TOO_FAST) or t.failed_on == "hidden"
        ]
        wrong = [turn for turn in visible if turn.failed_on == "hidden"]
        assert (group.hidden_failures is None) == (not visible)
        if group.hidden_failures is not None:
            assert group.hidden_failures.value == pytest.approx(len(wrong) / len(visible))
        hacks = [
            mean([float(any(t.verdict in REFUSED_AS_HACKS for t in one)) for one in of_task])
            for of_task in own
        ]
        assert group.refused_hacks.value == pytest.approx(mean(hacks))


def of(outcomes: Outcomes) -> ModelFigures:
    return figures_of(head(list(outcomes), len(next(iter(outcomes.values())))), samples_of(outcomes))


def test_first_turn_and_best_turn_are_told_apart() -> None:
    better_later = [failed(), passed(0.9), passed(1.4)]
    model = of({TASKS[0]: [better_later, better_later], TASKS[1]: [[passed(1.1)], [failed(), failed()]]})
    group = model.group("held_out")
    assert group is not None
    assert group.first is not None
    assert (group.first.pass_at[1].value, group.best.pass_at[1].value) == (0.25, 0.75)
    assert (group.first.fast[1.2].value, group.best.fast[1.2].value) == (0.0, 0.5)


def test_with_one_turn_there_is_no_first_turn_to_tell() -> None:
    group = of({TASKS[0]: [[passed()], [failed()]]}).group("held_out")
    assert group is not None
    assert group.first is None


def test_every_figure_says_how_its_interval_was_found() -> None:
    model = of({TASKS[0]: [[passed(1.5)], [failed()]], TASKS[1]: [[failed()], [failed()]]})
    group = model.group("held_out")
    assert group is not None
    assert group.best.pass_at[1].method == "bootstrap over tasks"
    assert group.best.fast[2.0].method == "wilson over tasks"
    assert model.tasks[0].pass_rate.method == "wilson"
    assert model.tasks[0].median_speedup == 1.5
    assert model.tasks[1].median_speedup is None


def test_modelled_and_measured_times_never_meet() -> None:
    mixed = {TASKS[0]: [[passed()], [passed(1.0, "measured", "NVIDIA H200")]]}
    with pytest.raises(UserError, match="measured on NVIDIA H200 and modelled"):
        of(mixed)
    columns = [of({TASKS[0]: [[passed()]]}), of({TASKS[0]: [[passed(1.0, "measured", "NVIDIA H200")]]})]
    with pytest.raises(ValueError, match="cannot be compared"):
        EvaluationReport(models=tuple(m.model_copy(update={"label": str(i)}) for i, m in enumerate(columns)))


def test_an_unfinished_evaluation_has_no_figures(tmp_path: Path) -> None:
    folder = write(tmp_path / "e", {TASKS[0]: [[passed()], [failed()]]})
    assert figures_in(folder).samples_per_task == 2
    (folder.path / "samples.jsonl").write_text(
        samples_of({TASKS[0]: [[passed()]]})[0].model_dump_json() + "\n"
    )
    with pytest.raises(UserError, match="1 of 2 samples"):
        figures_in(folder)


def test_a_sample_counts_by_its_fastest_kernel_that_passed() -> None:
    one: EvaluationSample = sample(TASKS[0], 0, passed(0.7), failed(), passed(1.2), passed(1.1))
    assert one.best_turn.speedup == 1.2


def test_a_turn_with_a_speedup_that_did_not_pass_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="if and only if it passed"):
        SampleTurn.model_validate(passed().model_dump() | {"verdict": Verdict.UNSAFE})
