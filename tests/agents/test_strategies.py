"""Strategies are read off the code, and what they gave is told in a few words."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.agents.strategies import (
    MAX_TRIED_CHARS,
    Strategy,
    StrategyOutcome,
    outcomes_of,
    recognise,
    tried_words,
)
from coding_framework.data.tasks import all_tasks, get_task, variants
from coding_framework.records import Verdict
from tests_support import EvaluationFactory

HONEST = Path(__file__).parent.parent / "honest"

NAMED: dict[str, Strategy] = {
    "vectorized": Strategy.VECTORISED_LOADS,
    "vectorised": Strategy.VECTORISED_LOADS,
    "float4": Strategy.VECTORISED_LOADS,
    "grid_stride": Strategy.GRID_STRIDE,
    "warp_shuffle": Strategy.WARP_SHUFFLE,
    "tiled": Strategy.SHARED_TILING,
    "register_blocked": Strategy.REGISTER_TILING,
    "online": Strategy.ONLINE_ALGORITHM,
    "half2": Strategy.HALF2,
    "two_launches": Strategy.TWO_PASS_SCRATCH,
    "fast_exp": Strategy.FAST_MATH_INTRINSICS,
    "fast_log": Strategy.FAST_MATH_INTRINSICS,
    "shared_tile": Strategy.SHARED_TILING,
    "row_in_shared": Strategy.SHARED_TILING,
    "tensor_cores": Strategy.TENSOR_CORES,
    "block_per_row": Strategy.BLOCK_PER_ROW,
    "warp_per_row": Strategy.WARP_PER_ROW,
    "bfloat162": Strategy.HALF2,
    "split_rows": Strategy.TWO_PASS_SCRATCH,
}


def variant_source(task: str, name: str) -> str:
    return next(variant.source for variant in variants(task) if variant.name == name)


@pytest.mark.parametrize(
    ("task", "variant", "expected"),
    [
        ("vector_add", "vectorized", {"vectorised_loads", "restrict_or_ldg"}),
        ("vector_add", "grid_stride", {"grid_stride"}),
        ("gelu", "fast_exp", {"fast_math_intrinsics", "restrict_or_ldg", "vectorised_loads"}),
        ("row_sum", "warp_shuffle", {"warp_per_row", "warp_shuffle"}),
        ("row_sum", "two_launches", {"shared_reduction", "two_pass_scratch"}),
        ("transpose", "tiled", {"shared_tiling", "padded_shared_memory"}),
        ("matmul", "tiled", {"shared_tiling"}),
        ("matmul", "register_blocked", {"shared_tiling", "padded_shared_memory", "register_tiling"}),
        ("softmax", "block_per_row", {"block_per_row", "shared_reduction", "shared_tiling"}),
        ("layer_norm", "block_per_row", {"block_per_row", "shared_reduction", "warp_shuffle"}),
    ],
)
def test_a_variant_of_the_catalogue_is_read_as_what_it_is(
    task: str, variant: str, expected: set[str]
) -> None:
    assert recognise(variant_source(task, variant)) == expected


@pytest.mark.parametrize(
    ("file", "strategy"),
    [
        ("matvec.shared_vector", Strategy.SHARED_TILING),
        ("softmax.online", Strategy.ONLINE_ALGORITHM),
        ("layer_norm.welford", Strategy.ONLINE_ALGORITHM),
        ("matmul.double_buffered", Strategy.DOUBLE_BUFFERING),
        ("transpose.swizzled_tile", Strategy.SWIZZLED_SHARED_MEMORY),
        ("matmul.split_tf32_tensor_cores", Strategy.TENSOR_CORES),
        ("vector_add.async_copy", Strategy.ASYNC_COPY),
        ("vector_add.launch_bounds", Strategy.LAUNCH_BOUNDS),
        ("scale.unrolled", Strategy.LOOP_UNROLLING),
        ("scale.constant_table", Strategy.CONSTANT_MEMORY),
        ("row_sum.last_block_finishes", Strategy.ATOMICS),
        ("row_sum.cooperative_groups", Strategy.WARP_SHUFFLE),
        ("matmul.thread_tile", Strategy.REGISTER_TILING),
        ("rms_norm.grid_stride_rows", Strategy.GRID_STRIDE),
        ("gelu.float2", Strategy.VECTORISED_LOADS),
        ("vector_add.cache_intrinsics", Strategy.RESTRICT_OR_LDG),
    ],
)
def test_honest_kernels_of_many_styles_are_recognised(file: str, strategy: Strategy) -> None:
    assert strategy in recognise((HONEST / f"{file}.cu").read_text("utf-8"))


def test_the_names_of_the_catalogues_variants_agree_with_what_is_recognised() -> None:
    """Whatever is added to the catalogue: nine in ten of the names that promise a strategy keep it."""
    promised = [
        (f"{task.name}.{variant.name}", strategy, variant.source)
        for task in all_tasks()
        for variant in variants(task.name)
        for word, strategy in NAMED.items()
        if word in variant.name
    ]
    missed = [name for name, strategy, source in promised if strategy not in recognise(source)]
    assert len(promised) >= 15
    assert len(missed) <= len(promised) // 10, missed


@pytest.mark.parametrize("name", ["vector_add", "scale", "row_sum", "matmul", "softmax", "transpose"])
def test_a_naive_kernel_uses_no_strategy(name: str) -> None:
    assert recognise(get_task(name).baseline) == frozenset()


def test_comments_and_strings_are_not_taken_for_code() -> None:
    comment = "// __shared__ float tile[32][33]; __shfl_down_sync\n"
    source = comment + 'extern "C" __global__ void k() { /* atomicAdd(y, 1) */ }'
    assert recognise(source) == frozenset()


def test_half_precision_pairs_are_recognised() -> None:
    source = """#include <cuda_fp16.h>
// launch: k grid=(1) block=(32)
extern "C" __global__ void k(const __half2* x, __half2* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = __hadd2(x[i], x[i]);
}"""
    assert Strategy.HALF2 in recognise(source)


def test_counters_correct_what_the_text_suggests(evaluations: EvaluationFactory) -> None:
    tiled = variant_source("transpose", "tiled")
    idle = evaluations.profile(uses_shared_memory=False, uses_warp_shuffle=True)
    assert recognise(tiled, idle) == {Strategy.WARP_SHUFFLE}
    assert Strategy.SHARED_TILING in recognise(tiled, evaluations.profile(uses_shared_memory=True))


@given(st.text(alphabet="_global{}()[];<>=+*/ \n\"'#abcf0123456789&^%", max_size=200))
def test_any_text_has_strategies_or_none(text: str) -> None:
    assert recognise(text) <= frozenset(Strategy)


@pytest.mark.parametrize("noise", ["a=b*expf(c)+", "a[", "for(i=0;i<n;i+=32){a[i]+=a[i+1];", "("])
def test_noise_takes_no_time_to_read(noise: str) -> None:
    started = time.process_time()
    recognise('extern "C" __global__ void k(float* a, int n) {' + noise * (30_000 // len(noise)))
    assert time.process_time() - started < 15


def test_one_outcome_for_each_strategy_of_a_kernel(evaluations: EvaluationFactory) -> None:
    passed = evaluations.passed(1.5, profile=evaluations.profile(uses_shared_memory=True))
    shown = passed.model_copy(
        update={
            "candidate": passed.candidate.model_copy(update={"source": variant_source("transpose", "tiled")})
        }
        if passed.candidate
        else {}
    )
    outcomes = outcomes_of(shown, turn=2)
    assert [outcome.strategy for outcome in outcomes] == [
        Strategy.SHARED_TILING,
        Strategy.PADDED_SHARED_MEMORY,
    ]
    assert {(outcome.turn, outcome.speedup, outcome.verdict) for outcome in outcomes} == {
        (2, 1.5, Verdict.PASSED)
    }
    assert outcomes_of(evaluations.failed(Verdict.NO_CANDIDATE), turn=0) == ()


def outcome(strategy: Strategy, turn: int, speedup: float | None) -> StrategyOutcome:
    verdict = Verdict.PASSED if speedup else Verdict.WRONG_RESULT
    return StrategyOutcome(strategy=strategy, turn=turn, speedup=speedup, verdict=verdict)


def test_what_was_tried_is_told_by_turn_with_what_it_gave() -> None:
    words = tried_words(
        [
            outcome(Strategy.GRID_STRIDE, 0, 1.1),
            outcome(Strategy.SHARED_TILING, 1, None),
            outcome(Strategy.LOOP_UNROLLING, 1, None),
        ]
    )
    assert words == "Already tried: grid stride → 1.10x; shared tiling, loop unrolling → wrong result."
    assert tried_words([]) == ""


def test_a_long_history_keeps_its_last_turns_within_the_limit() -> None:
    outcomes = [outcome(strategy, turn, 1.0 + turn) for turn in range(20) for strategy in list(Strategy)[:3]]
    words = tried_words(outcomes)
    assert len(words) <= MAX_TRIED_CHARS
    assert "20.00x" in words
    assert " 1.00x" not in words
