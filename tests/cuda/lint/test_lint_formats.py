"""Narrow formats round as the hardware does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.cuda.elements import decode_elements, encode_elements
from coding_framework.cuda.lint.formats import BFLOAT16, FLOAT8, FLOAT16, INT8, TF32, rounded_array

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(finite, min_size=1, max_size=20))
def test_float16_is_numpys_up_to_its_largest_value(values: list[float]) -> None:
    array = np.clip(np.array(values), -65504, 65504)
    assert np.array_equal(FLOAT16.round(array), array.astype(np.float16).astype(np.float64))


@given(st.lists(finite, min_size=1, max_size=20))
def test_bfloat16_is_that_of_the_elements(values: list[float]) -> None:
    array = np.clip(np.array(values), -3e38, 3e38)
    assert np.array_equal(
        BFLOAT16.round(array), decode_elements(encode_elements(array, "bfloat16"), "bfloat16")
    )


@pytest.mark.parametrize(
    ("narrow", "given_value", "rounded"),
    [
        (TF32, 1 + 2.0**-11, 1.0),
        (TF32, 1 + 3 * 2.0**-11, 1 + 2.0**-9),
        (TF32, 1e30, np.ldexp(np.rint(np.ldexp(1e30, -89)), 89)),
        (FLOAT8, 1.0625, 1.0),
        (FLOAT8, 460.0, 448.0),
        (FLOAT8, 2.0**-9, 2.0**-9),
        (FLOAT8, 2.0**-11, 0.0),
        (INT8, 300.0, 127.0),
        (INT8, -7.0, -7.0),
    ],
)
def test_a_format_keeps_its_bits_and_its_range(narrow: object, given_value: float, rounded: float) -> None:
    assert narrow.round(np.array([given_value]))[0] == rounded  # type: ignore[attr-defined]


def test_a_rounded_array_rounds_every_result_and_sums_before_it_rounds() -> None:
    ones = rounded_array(np.full((2, 300), 1.0), BFLOAT16)
    assert (ones / 3.0)[0, 0] == BFLOAT16.round(np.array([1 / 3]))[0]
    assert np.sum(ones, axis=1).tolist() == [300.0, 300.0]
    assert np.sum(ones[:, :257], axis=1).tolist() == [256.0, 256.0]
    assert np.mean(ones, axis=1, keepdims=True).tolist() == [[1.0], [1.0]]
    assert np.matmul(ones, np.ones(300) * 1.01).tolist() == [304.0, 304.0]
    assert np.exp(ones)[0, 0] == BFLOAT16.round(np.exp(np.array([1.0])))[0]
    assert (ones > 0).dtype == np.bool_
