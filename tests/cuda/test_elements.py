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
def test_poison_is_nan_or_a_number_of_its_own_and_differs_from_run_to_run(dtype: str) -> None:
    patterns = [fresh_poison() for _ in range(20)]
    assert len(set(patterns)) == 20
    for pattern in patterns:
        elements = poison(dtype, 3, pattern)
        if dtype == "int32":
            assert (elements.view(np.uint32) == pattern).all()
        else:
            assert np.isnan(decode_elements(elements, dtype)).all()
