"""Laws that hold for every reward, whatever the evaluation and whatever the weights."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coding_framework.config import GatedWeights, RewardConfig, RewardWeights
from coding_framework.records import Evaluation, KernelTiming, Verdict
from coding_framework.records.reward import HIGHEST_REWARD, LOWEST_REWARD
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from tests_support import EvaluationFactory

MAKE = EvaluationFactory()
FAILURES = [verdict for verdict in Verdict if verdict is not Verdict.PASSED]
EFFICIENCY = ("occupancy", "warp_efficiency", "coalescing", "bandwidth")
speedups = st.floats(0.01, 100.0)
shares = st.floats(0.0, 1.0)
widths = st.floats(0.0, 0.5)


def measured(
    speedup: float,
    *,
    width: float = 0.03,
    reference_width: float | None = 0.03,
    own: float | None = None,
    profiled: bool = True,
    resources: bool = True,
    device: str = "H200",
) -> Evaluation:
    """A measured pass: 10 µs reference, intervals of ± `width`; with or without counters."""
    passed = MAKE.passed(speedup)
    median_us = 10.0 / speedup
    timing = KernelTiming(
        kind="measured",
        device=device,
        dimensions={"n": 4},
        median_us=median_us,
        reference_median_us=10.0,
        interval_us=(median_us * (1 - width), median_us * (1 + width)),
        reference_interval_us=None
        if reference_width is None
        else (10.0 * (1 - reference_width), 10.0 * (1 + reference_width)),
        num_samples=50,
        floor_us=0.001,
        own_kernel_share=own,
    )
    assert passed.compilation is not None
    compilation = passed.compilation if resources else passed.compilation.model_copy(update={"resources": ()})
    changes: dict[str, Any] = {"timing": timing, "compilation": compilation}
    if not profiled:
        changes["profile"] = None
    return passed.model_copy(update=changes)


profiles = st.builds(
    MAKE.profile,
    occupancy=shares,
    warp_execution_efficiency=shares,
    coalescing_efficiency=shares,
    dram_throughput_share=shares,
    bank_conflicts_per_access=st.floats(0, 31),
    uses_warp_shuffle=st.booleans(),
)
modelled = st.builds(
    MAKE.passed,
    speedups,
    warnings=st.integers(0, 5),
    profile=profiles,
    registers=st.integers(0, 255),
    static_shared_bytes=st.integers(0, 230_000),
    spill_store_bytes=st.integers(0, 64),
)
clocked = st.builds(
    measured,
    speedups,
    width=widths,
    reference_width=st.none() | widths,
    own=st.none() | shares,
    profiled=st.booleans(),
    resources=st.booleans(),
)
failed = st.builds(MAKE.failed, st.sampled_from(FAILURES), good_checks=st.integers(0, 3))
evaluations = st.one_of(modelled, clocked, failed)


@st.composite
def weights(draw: st.DrawFn) -> RewardWeights:
    raw = [draw(st.floats(0.01, 1)) for _ in range(5)]
    names = ("compilation", "correctness", "performance", "efficiency", "quality")
    scale = max(1.0, sum(raw))
    parts = {name: value / scale for name, value in zip(names, raw, strict=True)}
    return RewardWeights(**parts, improvement=draw(shares))


gates = st.builds(
    GatedWeights,
    correctness=st.floats(0.3, 1),
    performance=shares,
    register_pressure=st.floats(0, 0.1),
    shared_memory=st.floats(0, 0.1),
    timeout=st.floats(0, 0.1),
    warp_shuffle=shares,
    coalesced=shares,
)
rewards = st.builds(
    CUDAPerformanceReward,
    st.builds(
        RewardConfig,
        preset=st.sampled_from(["weighted", "gated", "mixed"]),
        gated_share=shares,
        target_speedup=st.floats(1.1, 20),
        speedup_estimate=st.sampled_from(["median", "lower"]),
        weights=weights(),
        gated=gates,
    ),
)


@given(reward=rewards, evaluation=evaluations, earlier=st.lists(evaluations, max_size=3))
def test_totals_are_bounded_whatever_the_weights(
    reward: CUDAPerformanceReward, evaluation: Evaluation, earlier: list[Evaluation]
) -> None:
    assert LOWEST_REWARD <= reward(evaluation, earlier).total <= HIGHEST_REWARD


@given(reward=rewards, evaluation=evaluations, earlier=st.lists(evaluations, max_size=3))
def test_the_same_input_gives_the_same_reward_and_survives_json(
    reward: CUDAPerformanceReward, evaluation: Evaluation, earlier: list[Evaluation]
) -> None:
    first = reward(evaluation, earlier)
    assert first == CUDAPerformanceReward(reward.config)(evaluation, earlier)
    assert type(first).model_validate_json(first.model_dump_json()) == first


@given(reward=rewards, evaluation=evaluations, earlier=st.lists(evaluations, max_size=3))
def test_the_explanation_names_every_part_every_gap_and_the_verdict(
    reward: CUDAPerformanceReward, evaluation: Evaluation, earlier: list[Evaluation]
) -> None:
    answer = reward(evaluation, earlier)
    for name in (*answer.parts, *answer.left_out):
        assert name in answer.explanation
    assert evaluation.verdict.value.replace("_", " ") in answer.explanation
    if evaluation.timing is not None:
        assert evaluation.timing.kind in answer.explanation


@given(
    reward=rewards,
    pair=st.tuples(speedups, speedups).map(sorted),
    width=widths,
    own=st.none() | shares,
    earlier=st.lists(evaluations, max_size=2),
)
def test_a_faster_kernel_never_earns_less(
    reward: CUDAPerformanceReward,
    pair: list[float],
    width: float,
    own: float | None,
    earlier: list[Evaluation],
) -> None:
    slow, fast = (measured(speedup, width=width, own=own) for speedup in pair)
    assert reward(fast, earlier).total >= reward(slow, earlier).total
    slow, fast = (MAKE.passed(speedup) for speedup in pair)
    assert reward(fast, earlier).total >= reward(slow, earlier).total


@given(reward=rewards, speedup=speedups, width=widths, reference_width=widths)
def test_a_speedup_whose_interval_holds_one_earns_nothing_for_speed(
    reward: CUDAPerformanceReward, speedup: float, width: float, reference_width: float
) -> None:
    evaluation = measured(speedup, width=width, reference_width=reference_width)
    low = speedup * (1 - reference_width) / (1 + width)
    assume(abs(low - 1) > 1e-9)
    paid = reward.normalised_speedup(evaluation)
    assert (paid > 0) == (low > 1)
    if low <= 1 <= speedup * (1 + reference_width) / (1 - width):
        assert "cannot be told from 1×" in reward(evaluation).explanation


@given(speedup=speedups)
def test_a_modelled_time_has_no_noise_so_its_speedup_always_counts(speedup: float) -> None:
    paid = CUDAPerformanceReward().normalised_speedup(MAKE.passed(speedup))
    assert paid == pytest.approx(min(1.0, max(0.0, log(speedup) / log(2.0))), abs=1e-12)


def test_a_reference_without_an_interval_is_taken_to_be_as_noisy_as_the_candidate() -> None:
    reward = CUDAPerformanceReward()
    assert reward.normalised_speedup(measured(1.15, width=0.1, reference_width=None)) == 0.0
    assert reward.normalised_speedup(measured(1.35, width=0.1, reference_width=None)) > 0.0


def test_the_cautious_estimate_pays_for_the_lower_end() -> None:
    cautious = CUDAPerformanceReward(RewardConfig(speedup_estimate="lower"))
    evaluation = measured(1.5, width=0.1, reference_width=0.1)
    assert cautious.normalised_speedup(evaluation) == pytest.approx(log(1.5 * 0.9 / 1.1) / log(2))
    assert CUDAPerformanceReward().normalised_speedup(evaluation) == pytest.approx(log(1.5) / log(2))


@given(speedup=st.floats(1.5, 1000), own=shares)
def test_speed_of_a_library_call_is_paid_only_by_the_share_of_own_kernels(speedup: float, own: float) -> None:
    reward = CUDAPerformanceReward()
    whole = reward.normalised_speedup(measured(speedup))
    assert reward.normalised_speedup(measured(speedup, own=own)) == pytest.approx(own * whole)
    trivial = reward(measured(speedup, own=0.07), [MAKE.failed(Verdict.COMPILE_ERROR)])
    assert trivial.parts["performance"] + trivial.parts["improvement"] <= 0.07 * (0.25 + 0.05) + 1e-9


@given(reward=rewards, evaluation=failed)
def test_the_gate_never_rewards_what_failed(reward: CUDAPerformanceReward, evaluation: Evaluation) -> None:
    gated = CUDAPerformanceReward(reward.config.model_copy(update={"preset": "gated"}))
    assert gated(evaluation).total <= 0
    assert (gated(evaluation).total < 0) <= (evaluation.verdict is Verdict.TIMEOUT)


@given(reward=rewards, evaluation=failed, earlier=st.lists(evaluations, max_size=2))
def test_what_failed_earns_nothing_for_speed_efficiency_quality_or_improvement(
    reward: CUDAPerformanceReward, evaluation: Evaluation, earlier: list[Evaluation]
) -> None:
    parts = reward(evaluation, earlier).parts
    assert not any(
        value
        for name, value in parts.items()
        if name.split()[-1] in ("performance", "efficiency", "quality", "improvement")
    )


@given(reward=rewards, passing=st.one_of(modelled, clocked), failing=failed)
def test_passing_never_earns_less_than_failing(
    reward: CUDAPerformanceReward, passing: Evaluation, failing: Evaluation
) -> None:
    assert reward(passing).total >= reward(failing).total


@given(speedup=speedups)
def test_a_missing_profile_is_neither_reward_nor_penalty(speedup: float) -> None:
    reward = CUDAPerformanceReward()
    bare = reward(measured(speedup, profiled=False))
    assert "efficiency" not in bare.parts
    assert set(bare.left_out) == {*EFFICIENCY, "bank_conflicts"}
    weight = {"compilation": 0.30, "correctness": 0.30, "quality": 0.05}
    for name, value in weight.items():
        assert bare.parts[name] == pytest.approx(value / 0.9)
    # A profile as good as everything else changes nothing; the parts merely come by other names.
    perfect = MAKE.profile(dram_throughput_share=1.0)
    full = reward(measured(2.0).model_copy(update={"profile": perfect}))
    assert full.total == pytest.approx(reward(measured(2.0, profiled=False)).total)


def test_host_code_without_a_report_of_ptxas_is_judged_by_what_is_known() -> None:
    weighted = CUDAPerformanceReward()(measured(2.0, profiled=False, resources=False))
    assert weighted.parts["quality"] == pytest.approx(0.05 / 0.9)
    assert {"spills", "registers", "shared_memory"} <= set(weighted.left_out)
    gated = CUDAPerformanceReward(RewardConfig(preset="gated"))(
        measured(2.0, profiled=False, resources=False)
    )
    assert gated.total == pytest.approx(1.0)
    assert set(gated.left_out) == {"warp_shuffle", "coalesced", "register_pressure", "shared_memory"}


@given(now=clocked | modelled, earlier=st.lists(evaluations, min_size=1, max_size=4))
def test_improvement_pays_only_for_what_is_truly_faster_than_all_before(
    now: Evaluation, earlier: list[Evaluation]
) -> None:
    bonus = CUDAPerformanceReward()(now, earlier).parts["improvement"]
    assert now.timing is not None
    for other in earlier:
        if other.timing is not None and bonus:
            assert other.timing.kind == now.timing.kind
            assert now.timing.speedup > 1.02 * other.timing.speedup


def test_two_measured_kernels_whose_intervals_touch_are_no_improvement() -> None:
    reward = CUDAPerformanceReward()

    def bonus(now: Evaluation, before: Evaluation) -> float:
        return reward(now, [before]).parts["improvement"]

    assert bonus(measured(1.55), measured(1.5)) == 0.0
    assert bonus(measured(2.5), measured(1.5)) == pytest.approx(0.05)
    assert bonus(measured(9.0), MAKE.passed(1.5)) == 0.0
    assert bonus(measured(9.0), measured(1.5, device="L4")) == 0.0
