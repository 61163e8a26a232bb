"""The error budget passes float32 in any order, and nothing coarser."""

from __future__ import annotations

import pytest

from coding_framework.cuda.executors.host.verifier.comparing import Comparison, compare

torch = pytest.importorskip("torch")
GENERATOR = torch.Generator().manual_seed(3)
A = torch.randn(96, 512, generator=GENERATOR)
B = torch.randn(512, 96, generator=GENERATOR)


def checked(actual: object, scale: float = 1.0) -> Comparison:
    left = A * scale
    return compare("y", actual, left.double() @ B.double(), left @ B, relative=1e-3, absolute=1e-3)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 100.0])
def test_another_order_of_summation_is_no_mistake(scale: float) -> None:
    total = torch.zeros(96, 96)
    for k in range(512):
        total += (A * scale)[:, k : k + 1] * B[k : k + 1]
    assert checked(total, scale).num_wrong == 0


@pytest.mark.parametrize("scale", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("bits", [10, 7])
def test_tf32_and_bfloat16_are_too_coarse(scale: float, bits: int) -> None:
    def rounded(values: torch.Tensor) -> torch.Tensor:
        mantissa, exponent = torch.frexp(values)
        return torch.ldexp(torch.round(mantissa * 2 ** (bits + 1)) / 2 ** (bits + 1), exponent)

    assert checked(rounded(A * scale) @ rounded(B), scale).num_wrong > 0


@pytest.mark.parametrize("scale", [1e-4, 1.0])
def test_zeros_never_pass_however_small_the_outputs_are(scale: float) -> None:
    result = checked(torch.zeros(96, 96), scale)
    assert result.num_wrong > 0.9 * result.num_elements


def test_a_non_finite_value_must_be_the_oracles_own() -> None:
    want = torch.tensor([1.0, float("inf"), float("nan"), -float("inf")], dtype=torch.float64)
    same = compare("y", want.float(), want, want.float(), relative=1e-3, absolute=1e-3)
    assert same.num_wrong == 0
    got = torch.tensor([float("nan"), 1.0, 1.0, float("inf")])
    result = compare("y", got, want, want.float(), relative=1e-3, absolute=1e-3)
    assert result.num_wrong == 4
    assert result.max_error_ratio == float("inf")
    assert [item.index for item in result.wrong] == [(0,), (1,), (2,)]


def test_integers_must_be_equal() -> None:
    want = torch.tensor([1, 2, 3])
    assert compare("y", want.clone(), want, want, relative=1, absolute=1).num_wrong == 0
    assert compare("y", want + 1, want, want, relative=1, absolute=1).num_wrong == 3


def test_where_nothing_is_finite_the_budget_is_the_tasks() -> None:
    want = torch.full((3,), float("nan"), dtype=torch.float64)
    assert compare("y", want.float(), want, want.float(), relative=0, absolute=1).num_wrong == 0
