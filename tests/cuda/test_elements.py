"""Numbers become elements and back, in every type that a task may use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.cuda.elements import decode_elements, encode_elements, fresh_poison, poison

DTYPES = ("float32", "float16", "bfloat16", "int32")


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (-2.0, 0xC000),
        (1 + 2.0**-8, 0x3F80),  # a tie goes to even
        (1 + 3 * 2.0**-8, 0x3F82),
        (1 + 2.0**-8 + 2.0**-20, 0x3F81),
        (3.4e38, 0x7F80),  # beyond the largest value
        (np.inf, 0x7F80),
        (np.nan, 0x7FFF),
        (2.0**-133, 0x0001),
    ],
)
def test_bfloat16_is_rounded_to_nearest_even(value: float, bits: int) -> None:
    assert encode_elements(np.array([value]), "bfloat16").tolist() == [bits]


@given(st.integers(0, 0xFFFF))
def test_every_bfloat16_survives_the_way_there_and_back(bits: int) -> None:
    value = decode_elements(np.array([bits], np.uint16), "bfloat16")
    assert np.isnan(value[0]) or encode_elements(value, "bfloat16")[0] == bits


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_numbers_survive_in_every_type(dtype: str) -> None:
    values = np.arange(-128.0, 129.0)
    assert np.array_equal(decode_elements(encode_elements(values, dtype), dtype), values)


def test_int32_takes_the_nearest_whole_number_inside_its_range() -> None:
    values = np.array([2.5, -2.6, 1e12, -1e12, np.nan])
    assert encode_elements(values, "int32").tolist() == [2, -3, 2**31 - 1, -(2**31), 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_poison_is_nan_in_every_type_that_has_one(dtype: str) -> None:
    elements = poison(dtype, 1000, 7, "y")
    floats = elements.view(np.float32) if dtype == "int32" else decode_elements(elements, dtype)
    assert np.isnan(floats).all()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 1000])
def test_poison_is_the_same_for_the_same_secret_and_name_alone(count: int) -> None:
    here = poison("int32", count, 7, "y")
    assert here.size == count
    assert np.array_equal(here, poison("int32", count, 7, "y"))
    others = [poison("int32", count, 8, "y"), poison("int32", count, 7, "z"), poison("int32", count, 7)]
    assert all(not np.array_equal(here, other) for other in others)


def test_a_word_of_poison_tells_nothing_of_another() -> None:
    words = poison("int32", 10_000, 7, "y").view(np.uint32)
    assert np.unique(words).size > 9_980
    differences = np.diff(words.astype(np.int64))
    assert np.unique(differences).size > 9_980


def test_the_word_that_a_gpu_fills_with_is_nan_and_differs_from_call_to_call() -> None:
    words = np.array([fresh_poison() for _ in range(20)], dtype=np.uint32)
    assert np.unique(words).size == 20
    assert np.isnan(words.view(np.float32)).all()
