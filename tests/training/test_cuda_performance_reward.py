"""Both reward presets: bounded, monotone, explained."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.config import EfficiencyWeights, RewardConfig, RewardWeights, load_config
from coding_framework.errors import ConfigError
from coding_framework.records import Evaluation, Verdict
from coding_framework.records.reward import HIGHEST_REWARD, LOWEST_REWARD
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from tests_support import EvaluationFactory

WEIGHTED = CUDAPerformanceReward()
GATED = CUDAPerformanceReward(RewardConfig(preset="gated"))
MAKE = EvaluationFactory()
FAILURES = [verdict for verdict in Verdict if verdict is not Verdict.PASSED]
speedups = st.floats(0.01, 100.0)


def any_evaluation() -> st.SearchStrategy[Evaluation]:
    return st.one_of(
        speedups.map(MAKE.passed),
        st.tuples(st.sampled_from(FAILURES), st.integers(0, 3)).map(
            lambda pair: MAKE.failed(pair[0], good_checks=pair[1])
        ),
    )


@pytest.mark.parametrize("reward", [WEIGHTED, GATED], ids=["weighted", "gated"])
class TestBothPresets:
    @given(evaluation=any_evaluation(), earlier=st.lists(any_evaluation(), max_size=3))
    def test_totals_stay_within_bounds(
        self, reward: CUDAPerformanceReward, evaluation: Evaluation, earlier: list[Evaluation]
    ) -> None:
        assert LOWEST_REWARD <= reward(evaluation, earlier).total <= HIGHEST_REWARD

    @given(slow=speedups, fast=speedups)
    def test_faster_never_earns_less(self, reward: CUDAPerformanceReward, slow: float, fast: float) -> None:
        slow, fast = sorted((slow, fast))
        assert reward(MAKE.passed(fast)).total >= reward(MAKE.passed(slow)).total

    @given(evaluation=any_evaluation())
    def test_the_same_evaluation_earns_the_same(
        self, reward: CUDAPerformanceReward, evaluation: Evaluation
    ) -> None:
        assert reward(evaluation) == reward(evaluation)

    @given(verdict=st.sampled_from(FAILURES), checks=st.integers(0, 3), speedup=speedups)
    def test_passing_always_earns_more_than_failing(
        self, reward: CUDAPerformanceReward, verdict: Verdict, checks: int, speedup: float
    ) -> None:
        assert reward(MAKE.passed(speedup)).total > reward(MAKE.failed(verdict, good_checks=checks)).total

    def test_the_explanation_names_the_verdict_and_the_kind_of_time(
        self, reward: CUDAPerformanceReward
    ) -> None:
        assert "modelled" in reward(MAKE.passed(2.0)).explanation
        assert "wrong result" in reward(MAKE.failed(Verdict.WRONG_RESULT)).explanation


def test_weighted_parts_have_the_stated_weights() -> None:
    parts = WEIGHTED(MAKE.passed(2.0, profile=MAKE.profile(dram_throughput_share=0.6))).parts
    assert parts == pytest.approx(
        {
            "compilation": 0.30,
            "correctness": 0.30,
            "performance": 0.25,
            "efficiency": 0.10,
            "quality": 0.05,
            "improvement": 0.0,
        }
    )


def test_a_kernel_as_slow_as_the_baseline_earns_nothing_for_speed_and_does_not_stop_the_episode() -> None:
    reward = WEIGHTED(MAKE.passed(1.0))
    assert reward.parts["performance"] == 0.0
    assert reward.total < 0.8


def test_partly_right_results_earn_part_of_correctness() -> None:
    assert WEIGHTED(MAKE.failed(Verdict.WRONG_RESULT, good_checks=2)).parts["correctness"] == pytest.approx(
        0.15
    )
    assert GATED(MAKE.failed(Verdict.WRONG_RESULT, good_checks=2)).total == 0.0


def test_what_does_not_compile_earns_nothing() -> None:
    assert WEIGHTED(MAKE.failed(Verdict.COMPILE_ERROR)).total == 0.0
    assert GATED(MAKE.failed(Verdict.COMPILE_ERROR)).total == 0.0
    assert "nothing earned" in WEIGHTED(MAKE.failed(Verdict.COMPILE_ERROR)).explanation


def test_improvement_pays_only_for_a_faster_kernel_or_the_first_that_passes() -> None:
    faster = WEIGHTED(MAKE.passed(1.5), [MAKE.passed(1.2)])
    slower = WEIGHTED(MAKE.passed(1.1), [MAKE.passed(1.2)])
    repaired = WEIGHTED(MAKE.passed(1.0), [MAKE.failed(Verdict.DATA_RACE)])
    first = WEIGHTED(MAKE.passed(1.5))
    assert [r.parts["improvement"] for r in (faster, slower, repaired, first)] == [0.05, 0.0, 0.05, 0.0]


@pytest.mark.parametrize(
    ("change", "part", "value"),
    [
        ({"registers": 255}, "register_pressure", -0.05),
        ({"registers": 64}, "register_pressure", 0.0),
        ({"static_shared_bytes": 227 * 1024}, "shared_memory", -0.05),
        ({"profile": MAKE.profile(uses_warp_shuffle=True)}, "warp_shuffle", 0.05),
        ({"profile": MAKE.profile(coalescing_efficiency=0.2)}, "coalesced", 0.0),
        ({}, "coalesced", 0.05),
        ({}, "correctness", 0.5),
    ],
)
def test_gated_parts_have_the_stated_weights(change: dict[str, Any], part: str, value: float) -> None:
    assert GATED(MAKE.passed(1.0, **change)).parts[part] == pytest.approx(value)


def test_a_kernel_that_never_ends_earns_less_than_nothing_under_the_gated_preset() -> None:
    assert GATED(MAKE.failed(Verdict.TIMEOUT)).total == pytest.approx(-0.1)


def test_warnings_spills_and_bank_conflicts_cost_quality() -> None:
    clean = WEIGHTED(MAKE.passed()).parts["quality"]
    for dirty in (
        MAKE.passed(warnings=2),
        MAKE.passed(spill_store_bytes=8),
        MAKE.passed(profile=MAKE.profile(bank_conflicts_per_access=3.0)),
        MAKE.passed(registers=200),
        MAKE.passed(static_shared_bytes=100 * 1024),
    ):
        assert WEIGHTED(dirty).parts["quality"] < clean


@pytest.mark.parametrize(
    "worse",
    [
        {"occupancy": 0.25},
        {"warp_execution_efficiency": 0.5},
        {"coalescing_efficiency": 0.125},
        {"dram_throughput_share": 0.1},
        {"achieved_occupancy": 0.3},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_counter_of_the_profile_moves_efficiency(worse: dict[str, float]) -> None:
    good, bad = (WEIGHTED(MAKE.passed(profile=MAKE.profile(**change))) for change in ({}, worse))
    assert bad.parts["efficiency"] < good.parts["efficiency"]
    assert bad.total < good.total


def test_moving_bytes_that_nobody_reads_is_no_use_of_bandwidth() -> None:
    wasteful = MAKE.profile(dram_throughput_share=1.0, coalescing_efficiency=0.125)
    assert WEIGHTED(MAKE.passed(profile=wasteful)).terms["bandwidth"] == pytest.approx(0.125 / 0.6)


def test_a_mix_is_the_two_presets_by_their_shares() -> None:
    mixed = CUDAPerformanceReward(RewardConfig(preset="mixed", gated_share=0.25))
    for evaluation in (MAKE.passed(1.5), MAKE.failed(Verdict.TIMEOUT), MAKE.failed(Verdict.WRONG_RESULT)):
        wanted = 0.75 * WEIGHTED(evaluation).total + 0.25 * GATED(evaluation).total
        assert mixed(evaluation).total == pytest.approx(wanted)
    assert "gated gate" in mixed(MAKE.failed(Verdict.WRONG_RESULT)).parts


def test_weights_come_from_the_config() -> None:
    weights = RewardWeights(compilation=0.1, correctness=0.2, performance=0.7, efficiency=0, quality=0)
    parts = CUDAPerformanceReward(RewardConfig(weights=weights))(MAKE.passed(2.0)).parts
    assert (parts["compilation"], parts["correctness"], parts["performance"]) == pytest.approx(
        (0.1, 0.2, 0.7)
    )
    only = EfficiencyWeights(occupancy=1, warp_efficiency=0, coalescing=0, bandwidth=0)
    profile = MAKE.profile(occupancy=0.5, coalescing_efficiency=0.1)
    reward = CUDAPerformanceReward(RewardConfig(efficiency=only))(MAKE.passed(profile=profile))
    assert reward.parts["efficiency"] == pytest.approx(0.05)


def test_an_agent_is_paid_by_its_own_weights_and_the_others_by_the_common_ones() -> None:
    tester = RewardWeights(compilation=0, correctness=1, performance=0, efficiency=0, quality=0)
    reward = CUDAPerformanceReward(RewardConfig(agents={"tester": tester}))
    assert reward.for_agent("tester")(MAKE.passed(1.0)).total == 1.0
    assert reward.for_agent("generator")(MAKE.passed(1.0)) == reward(MAKE.passed(1.0))


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("reward.weights.performance=0.9", "at most 1"),
        ("reward.weights.compilation=-0.1", "must be at least 0"),
        ("reward.gated.correctness=0.05", "passing pays"),
        ("reward.agents.tester.correctnes=0.1", "did you mean 'correctness'?"),
        ("reward.agents.nobody.correctness=0.1", "reward.agents.nobody"),
        ("reward.target_speedup=1", "must be above 1"),
        ("reward.efficiency.occupancyy=1", "did you mean 'occupancy'?"),
    ],
)
def test_nonsense_in_the_reward_section_is_refused(override: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, [override])
    assert complaint in str(caught.value)
