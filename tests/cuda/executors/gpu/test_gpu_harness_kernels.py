"""The judge's own kernels, run on the emulator: what they draw, sum and compare must be right."""

from __future__ import annotations

import re

import numpy as np
import pytest

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.elements import decode_elements, encode_elements
from coding_framework.cuda.executors.base import BufferArgument, ExecutionRequest, ResolvedLaunch
from coding_framework.cuda.executors.emulator.execute import execute
from coding_framework.cuda.executors.gpu.harness import DISTRIBUTIONS, KERNELS, TYPES, distribution_code
from coding_framework.cuda.executors.gpu.harness_source import harness_source

KINDS = {**DISTRIBUTIONS, "mixed": distribution_code("mixed:" + ",".join(DISTRIBUTIONS))}
HOLDERS = {"float32": np.float32, "float16": np.float16, "bfloat16": np.uint16, "int32": np.int32}
COUNT, ROW = 3001, 7


@pytest.fixture(scope="module")
def ptx() -> str:
    with CUDACompiler() as compiler:
        compiled = compiler.compile(harness_source())
    assert compiled.success, compiled.errors
    assert compiled.ptx is not None
    return compiled.ptx


@pytest.mark.parametrize("name", KERNELS)
def test_the_parameters_are_packed_as_the_kernel_reads_them(ptx: str, name: str) -> None:
    entry = re.search(rf"\.entry {name}\((.*?)\)", ptx, re.DOTALL)
    assert entry is not None
    types = {"u64": "Q", "u32": "i", "f64": "d"}
    layout = "".join(types[kind] for kind in re.findall(r"\.param \.(\w+)", entry[1]))
    assert layout == KERNELS[name][0].replace("I", "i")


def launch(
    ptx: str, kernel: str, buffers: dict[str, np.ndarray], *arguments: object
) -> dict[str, np.ndarray]:
    bound = tuple(BufferArgument(a) if isinstance(a, str) else a for a in arguments)
    run = ResolvedLaunch(kernel, (2, 1, 1), (256, 1, 1), 0, bound)  # type: ignore[arg-type]
    outcome = execute(ExecutionRequest(ptx, (run,), buffers, detect_races=False))
    assert outcome.fault is None, outcome.fault
    return outcome.buffers  # type: ignore[return-value]


def fill(
    ptx: str, dtype: str, kind: str, seed: int, *, count: int = COUNT, row_length: int = ROW
) -> np.ndarray:
    data = np.zeros(count, HOLDERS[dtype])
    return launch(ptx, "cf_fill", {"d": data}, "d", count, TYPES[dtype], KINDS[kind], row_length, seed)["d"]


@pytest.mark.parametrize("row_length", [1, ROW])
@pytest.mark.parametrize("count", [3, 1000, COUNT, COUNT + 1])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_verifier_draws_what_the_candidate_was_given(
    ptx: str, dtype: str, kind: str, count: int, row_length: int
) -> None:
    seed, key = 0x1234_5678_9ABC, 0x0FED_CBA9_8765
    data = fill(ptx, dtype, kind, seed, count=count, row_length=row_length)
    arrays = {"w": np.zeros(count), "t": np.zeros(1, np.uint64)}
    numbers = (count, TYPES[dtype], KINDS[kind], row_length, seed, key)
    again = launch(ptx, "cf_redraw", arrays, "w", *numbers, "t")
    assert np.array_equal(again["w"], decode_elements(data, dtype))
    sums = launch(ptx, "cf_checksum", {"d": data, "t": np.zeros(1, np.uint64)}, "d", data.nbytes, key, "t")
    assert sums["t"][0] == again["t"][0]


def test_the_distributions_are_what_they_say(ptx: str) -> None:
    normal, uniform = fill(ptx, "float32", "normal", 7), fill(ptx, "float32", "uniform", 7)
    assert abs(normal.mean()) < 0.15
    assert 0.9 < normal.std() < 1.1
    assert uniform.min() >= -1
    assert uniform.max() < 1
    assert set(fill(ptx, "float32", "integers", 7)) == set(range(-8, 9))
    rows = fill(ptx, "float32", "constant_rows", 7)[: COUNT // ROW * ROW].reshape(-1, ROW)
    assert (rows == rows[:, :1]).all()
    assert len(np.unique(rows)) == len(rows)
    assert np.allclose(fill(ptx, "float32", "large", 7), 100 * normal)
    assert np.allclose(fill(ptx, "float32", "small", 7), normal / 1000)
    assert np.allclose(fill(ptx, "float32", "far_below", 7), 200 * uniform - 600)
    assert np.allclose(fill(ptx, "float32", "far_above", 7), 200 * uniform + 600)
    rare = fill(ptx, "float32", "outliers", 7) / normal
    assert set(np.round(rare)) == {1, 100}
    assert 2 < (rare > 50).sum() < 30  # one in 256 of 3001


def test_neighbours_have_nothing_to_do_with_each_other(ptx: str) -> None:
    """Four of them come from one call of the generator, two of these from one pair of its numbers."""
    count = 20_000
    groups = fill(ptx, "float32", "normal", 11, count=count).reshape(-1, 4)
    assert (abs(np.corrcoef(groups.T) - np.eye(4)) < 0.06).all()
    assert (abs(np.corrcoef((groups**2).T) - np.eye(4)) < 0.06).all()
    assert (abs(groups.mean(axis=0)) < 0.06).all()
    assert (abs(groups.std(axis=0) - 1) < 0.06).all()


def test_the_elements_of_a_mixed_vector_are_of_every_kind(ptx: str) -> None:
    mixed = fill(ptx, "float32", "mixed", 5, row_length=1)
    same = {kind: mixed == fill(ptx, "float32", kind, 5, row_length=1) for kind in DISTRIBUTIONS}
    assert np.logical_or.reduce(list(same.values())).all()
    share = 1 / len(DISTRIBUTIONS)
    assert all(each.mean() > 0.8 * share for each in same.values())
    assert same[next(iter(DISTRIBUTIONS))][0]


def test_a_copy_is_the_same_bytes(ptx: str) -> None:
    data = np.arange(1000, dtype=np.uint32)
    arrays = {"a": data, "b": np.zeros_like(data)}
    copied = launch(ptx, "cf_copy", arrays, "b", "a", 996 * 4 // 16)
    assert np.array_equal(copied["b"], np.where(np.arange(1000) < 996, data, 0))


def test_other_seeds_give_other_numbers(ptx: str) -> None:
    assert not np.array_equal(fill(ptx, "float32", "normal", 1), fill(ptx, "float32", "normal", 2))


@pytest.mark.parametrize("dtype", TYPES)
def test_one_changed_bit_changes_the_sum(ptx: str, dtype: str) -> None:
    data = fill(ptx, dtype, "large", 3)
    changed = data.copy()
    changed.view(np.uint8)[-1] ^= 1
    assert checksum(ptx, data) != checksum(ptx, changed)


def checksum(ptx: str, data: np.ndarray) -> int:
    arrays = {"d": data, "t": np.zeros(1, np.uint64)}
    return int(launch(ptx, "cf_checksum", arrays, "d", data.nbytes, 99, "t")["t"][0])


def seal(ptx: str, sums: np.ndarray, key: int) -> np.ndarray:
    return launch(ptx, "cf_seal", {"t": sums.copy()}, "t", sums.size, key)["t"]


def test_sealed_sums_differ_where_the_sums_do_and_tell_nothing_of_them(ptx: str) -> None:
    sums = np.arange(700, dtype=np.uint64)  # more than there are threads
    sealed = seal(ptx, sums, 99)
    assert np.array_equal(sealed, seal(ptx, sums, 99))
    assert len(np.unique(sealed)) == sums.size
    assert not (sealed == seal(ptx, sums, 98)).any()
    bits = np.unpackbits(sealed.view(np.uint8)).reshape(sums.size, 64)
    assert (abs(bits.mean(axis=0) - 0.5) < 0.1).all()


def compare(
    ptx: str, dtype: str, got: np.ndarray, want: np.ndarray, budget: float
) -> tuple[int, float, list[int]]:
    arrays = {"g": got, "w": want, "t": np.zeros(1, np.uint64), "r": np.zeros(5, np.uint64)}
    # Launches pass whole numbers only: the budget is 0 or 1 here.
    numbers = (got.size, TYPES[dtype], 3, int(budget), 0, 99)
    found = launch(ptx, "cf_compare", arrays, "g", "w", *numbers, "t", "r")
    assert found["t"][0] == checksum(ptx, got)
    out = found["r"]
    worst = float(out[1:2].view(np.float64)[0])
    return int(out[0]), worst, [int(i) for i in out[2 : 2 + min(int(out[0]), 3)]]


@pytest.mark.parametrize("dtype", TYPES)
def test_wrong_elements_are_counted_and_shown(ptx: str, dtype: str) -> None:
    want = np.arange(COUNT, dtype=np.float64) % 50
    got = encode_elements(want, dtype)
    assert compare(ptx, dtype, got, want, 1.0) == (0, 0.0, [])
    off = want.copy()
    off[[17, 700]] += 3
    num_wrong, worst, shown = compare(ptx, dtype, encode_elements(off, dtype), want, 1.0)
    assert (num_wrong, worst, sorted(shown)) == (2, 3.0, [17, 700])


def test_nan_is_right_only_where_the_oracle_has_it(ptx: str) -> None:
    want = np.array([np.nan, np.inf, 1.0, np.inf, 2.0])
    got = np.array([np.nan, np.inf, np.nan, 5.0, np.inf], np.float32)
    num_wrong, worst, shown = compare(ptx, "float32", got, want, 1.0)
    assert (num_wrong, sorted(shown)) == (3, [2, 3, 4])
    assert worst == 1e300


def test_integers_must_be_exact(ptx: str) -> None:
    want = np.array([1.0, 2.0, 3.0])
    got = np.array([1, 2, 4], np.int32)
    assert compare(ptx, "int32", got, want, 0.0)[0] == 1
