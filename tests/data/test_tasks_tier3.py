"""Tier 3: oracles agree with torch in float64, exact ones with numbers, and mistakes are noticed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from coding_framework.cuda.elements import decode_elements
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.cuda.judge import Judge
from coding_framework.data.tasks import HELD_OUT_FAMILIES, all_tasks, get_task, variants
from coding_framework.records import Candidate, Verdict

Arrays = Mapping[str, Any]


def drawn(name: str, distribution: Any = "normal") -> dict[str, np.ndarray]:
    task = get_task(name)
    raw = draw_inputs(task, task.visible_shapes[1], distribution, seed=7)
    return {spec.name: decode_elements(raw[spec.name], spec.dtype) for spec in task.inputs}


def answer(name: str, inputs: Arrays, shape: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
    task = get_task(name)
    return dict(task.oracle(np, inputs, shape or task.visible_shapes[1]))


def _sgd(torch: Any, a: Arrays) -> Any:
    weight = torch.nn.Parameter(a["w"].clone())
    weight.grad = a["gradient"].clone()
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9, weight_decay=0.01)
    optimizer.state[weight]["momentum_buffer"] = a["momentum"].clone()
    optimizer.step()
    return {"w_out": weight.detach(), "momentum_out": optimizer.state[weight]["momentum_buffer"]}


def _adamw(torch: Any, a: Arrays) -> Any:
    """A million steps in, where the bias correction has vanished."""
    weight = torch.nn.Parameter(a["w"].clone())
    weight.grad = a["gradient"].clone()
    optimizer = torch.optim.AdamW([weight], lr=0.01, betas=(0.9, 0.999), eps=1e-3, weight_decay=0.1)
    state = optimizer.state[weight]
    state.update(step=torch.tensor(1e6), exp_avg=a["mean"].clone(), exp_avg_sq=a["root"] ** 2)
    optimizer.step()
    return {
        "w_out": weight.detach(),
        "mean_out": state["exp_avg"],
        "root_out": torch.sqrt(state["exp_avg_sq"]),
    }


def _rotary(torch: Any, a: Arrays) -> Any:
    half = a["cosine"].shape[1]
    turned = torch.complex(a["x"][..., :half], a["x"][..., half:])
    turned = turned * torch.complex(a["cosine"], a["sine"])[:, None, :]
    return {"y": torch.cat([turned.real, turned.imag], dim=2)}


def _lstm_cell(torch: Any, a: Arrays) -> Any:
    """torch's cell with the identity for input weights, so that its input is the gates."""
    hidden = a["cell"].shape[1]
    weights = torch.eye(4 * hidden, dtype=torch.float64)
    recurrent = torch.zeros(4 * hidden, hidden, dtype=torch.float64)
    y, cell = torch.lstm_cell(a["gates"], (torch.zeros_like(a["cell"]), a["cell"]), weights, recurrent)
    return {"y": y, "cell_out": cell}


def _residual_rms_norm(torch: Any, a: Arrays) -> Any:
    total = a["x"] + a["residual"]
    return {"s": total, "y": torch.nn.functional.rms_norm(total, total.shape[1:], a["weight"], 1e-5)}


def _masked_softmax(torch: Any, a: Arrays) -> Any:
    scores = (a["x"] * 0.5).masked_fill(a["mask"] <= 0, -math.inf)
    return {"y": torch.nan_to_num(torch.softmax(scores, dim=1), nan=0.0)}


def _decode(torch: Any, a: Arrays) -> Any:
    attention = torch.nn.functional.scaled_dot_product_attention
    return {"y": attention(a["q"][:, None, :], a["k"], a["v"])[:, 0, :]}


def _kl(torch: Any, a: Arrays) -> Any:
    log_p, log_q = torch.log_softmax(a["x"], 1), torch.log_softmax(a["z"], 1)
    return {"loss": torch.nn.functional.kl_div(log_q, log_p, reduction="none", log_target=True).sum(1)}


def _functional(output: str, compute: Callable[[Any, Arrays], Any]) -> Callable[[Any, Arrays], Any]:
    return lambda torch, arrays: {output: compute(torch.nn.functional, arrays)}


COUNTERPARTS: dict[str, Callable[[Any, Arrays], Any]] = {
    "adamw_step": _adamw,
    "attention": _functional("y", lambda f, a: f.scaled_dot_product_attention(a["q"], a["k"], a["v"])),
    "attention_decode": _decode,
    "batch_norm_relu": _functional(
        "y", lambda f, a: f.relu(f.batch_norm(a["x"], None, None, a["weight"], a["bias"], True, 0.1, 1e-5))
    ),
    "bias_gelu_half": _functional("y", lambda f, a: f.gelu(a["x"] + a["bias"], approximate="tanh")),
    "causal_attention": _functional(
        "y", lambda f, a: f.scaled_dot_product_attention(a["q"], a["k"], a["v"], is_causal=True)
    ),
    "conv_bias_relu": _functional(
        "y", lambda f, a: f.relu(f.conv2d(a["x"][None], a["weight"], a["bias"], padding=1))[0]
    ),
    "cross_entropy": _functional(
        "loss", lambda f, a: f.cross_entropy(32 * a["x"], a["target"], reduction="none")
    ),
    "geglu": _functional("y", lambda f, a: f.gelu(a["x"][:, 0], approximate="tanh") * a["x"][:, 1]),
    "huber_rows": _functional(
        "loss", lambda f, a: f.huber_loss(a["x"], a["target"], reduction="none").mean(1)
    ),
    "kl_divergence": _kl,
    "linear_layer_norm": _functional(
        "y", lambda f, a: f.layer_norm(a["x"] @ a["w"] + a["bias"], (a["w"].shape[1],), eps=1e-3)
    ),
    "linear_relu": _functional("y", lambda f, a: f.relu(f.linear(a["x"], a["w"], a["bias"]))),
    "linear_relu_half": _functional("y", lambda f, a: f.relu(f.linear(a["x"], a["w"], a["bias"]))),
    "lstm_cell": _lstm_cell,
    "masked_softmax": _masked_softmax,
    "matmul_bias_gelu": _functional(
        "c", lambda f, a: f.gelu(a["a"] @ a["b"] + a["bias"], approximate="tanh")
    ),
    "mse_rows": _functional("loss", lambda f, a: f.mse_loss(a["x"], a["target"], reduction="none").mean(1)),
    "residual_rms_norm": _residual_rms_norm,
    "rotary_embedding": _rotary,
    "sgd_momentum": _sgd,
    "swiglu": _functional("y", lambda f, a: f.silu(a["a"]) * a["b"]),
}


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_an_oracle_agrees_with_its_counterpart_in_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    inputs = drawn(name)
    want = COUNTERPARTS[name](torch, {key: torch.asarray(array) for key, array in inputs.items()})
    got = answer(name, inputs)
    assert want.keys() == got.keys()
    for output, array in got.items():
        np.testing.assert_allclose(array, want[output].numpy(), rtol=1e-6, atol=1e-8)


def test_a_row_in_which_nothing_is_kept_is_zero() -> None:
    shape = {"rows": 2, "cols": 2}
    inputs = {"x": np.array([[1.0, 2.0], [8.0, 8.0]]), "mask": np.array([[-1.0, 0.0], [1.0, 0.5]])}
    assert answer("masked_softmax", inputs, shape)["y"].tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_dropout_keeps_what_is_on_the_threshold() -> None:
    inputs = {"residual": np.ones(3), "x": np.full(3, 3.0), "noise": np.array([0.25, 0.2, 1.0])}
    assert answer("dropout_residual", inputs, {"n": 3})["y"].tolist() == [5.0, 1.0, 5.0]


def test_dequantised_numbers_are_scaled_by_row_and_by_column() -> None:
    inputs = {
        "q": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "row_scale": np.array([1.0, 10.0]),
        "col_scale": np.array([1.0, 0.5]),
        "bias": np.array([0.0, 1.0]),
    }
    y = answer("dequantize_bias", inputs, {"rows": 2, "cols": 2})["y"]
    assert y.tolist() == [[1.0, 2.0], [30.0, 21.0]]


def test_quantised_rows_are_rounded_to_even_clamped_and_zero_where_the_row_is() -> None:
    step = 2.0**-15
    x = np.array([[0.5, 0.5 * step, 1.5 * step], [1.0 - step / 4, -1.0 + step / 4, 0.75], [0.0, 0.0, 0.0]])
    result = answer("quantize_rows", {"x": x}, {"rows": 3, "cols": 3})
    assert result["q"].tolist() == [[16384, 0, 2], [32767, -32768, 24576], [0, 0, 0]]
    assert result["peak"].tolist() == [0.5, 1.0 - step / 4, 0.0]


@pytest.mark.parametrize("distribution", ["normal", "large", "small", "outliers"])
def test_the_power_of_two_of_a_row_is_the_one_that_frexp_gives(distribution: str) -> None:
    inputs = drawn("quantize_rows", distribution)
    result = answer("quantize_rows", inputs)
    for row, whole, peak in zip(inputs["x"], result["q"], result["peak"], strict=True):
        power = math.ldexp(1.0, 15 - math.frexp(peak)[1])
        assert [min(round(value * power), 32767) for value in row.tolist()] == whole.tolist()


def test_the_held_out_family_of_this_tier_is_loss_and_has_members() -> None:
    losses = [task for task in all_tasks() if task.family == "loss"]
    assert len(losses) >= 3
    assert {task.tier for task in losses} == {3}
    assert {task.family for task in all_tasks() if task.tier == 3} & HELD_OUT_FAMILIES == {"loss"}


def test_every_task_of_this_tier_has_an_optimised_variant() -> None:
    counts = {task.name: len(variants(task.name)) for task in all_tasks() if task.tier == 3}
    assert min(counts.values()) >= 1
    assert len(counts) >= 17
    assert sum(counts.values()) >= 30


@pytest.mark.parametrize(
    "name",
    ["adamw_step", "attention", "attention_decode", "batch_norm_relu", "cross_entropy", "rotary_embedding"],
)
def test_float32_stays_within_half_the_budget_on_the_measured_shape(name: str) -> None:
    """The oracle's own formula in float32: what remains is room for other orders of summing."""
    task = get_task(name)
    for distribution in (*task.distributions, "mixed"):
        inputs = draw_inputs(task, task.measured_shape, distribution, seed=13)
        wide = {key: array.astype(np.float64) for key, array in inputs.items()}
        narrow = task.oracle(np, inputs, task.measured_shape)
        for output, want in task.oracle(np, wide, task.measured_shape).items():
            budget = task.tolerance.absolute + task.tolerance.relative * np.abs(want)
            assert (np.abs(narrow[output] - want) / budget).max() < 0.5


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.mark.parametrize(
    ("name", "variant", "right", "wrong"),
    [
        ("adamw_step", "vectorized", "0.001f", "0.002f"),
        ("attention", "warp_per_query", "rsqrtf(d)", "0.2f"),
        ("attention_decode", "split_keys", "result * shrink + parts", "result + parts"),
        ("batch_norm_relu", "two_launches", " + d * d * min(32, rows - 32 * chunk)", ""),
        ("bias_gelu_half", "half2", "0.044715f", "0.05f"),
        ("causal_attention", "warp_per_query", "start + lane <= i", "start + lane < n"),
        ("conv_bias_relu", "tiled", "b < w;", "b <= w;"),
        ("cross_entropy", "online", "total * __expf(largest - next) + __expf", "total + __expf"),
        ("dequantize_bias", "vectorized", "s.w + b.w", "s.w + b.z"),
        ("dropout_residual", "vectorized", ">= 0.25f", "> 0.3f"),
        ("geglu", "fast_exp", "row[cols + c]", "row[c]"),
        ("huber_rows", "warp_shuffle", "d - 0.5f", "d"),
        ("kl_divergence", "warp_shuffle", " - logf(x_total)", ""),
        ("linear_layer_norm", "four_rows", "1e-3f", "1e-5f"),
        ("linear_relu", "tiled", "total + bias[j]", "total"),
        ("linear_relu_half", "tensor_cores", "a2 = pair(&tile_x[upper + g][p + 8])", "a2 = a1"),
        ("lstm_cell", "fast_exp", "row[3 * hidden]", "row[2 * hidden]"),
        ("masked_softmax", "warp_shuffle", "total > 0.0f ? 1.0f / total : 0.0f", "1.0f / total"),
        ("matmul_bias_gelu", "tiled", "start < k", "start + 16 <= k"),
        ("mse_rows", "warp_shuffle", "offset > 0", "offset > 1"),
        ("quantize_rows", "warp_shuffle", "__float2int_rn", "__float2int_rz"),
        ("residual_rms_norm", "row_in_shared", " + sums[3]", ""),
        ("rotary_embedding", "thread_per_pair", "v * co + u * si", "v * co - u * si"),
        ("sgd_momentum", "vectorized", "0.01f * w", "0.0f * w"),
        ("swiglu", "vectorized", "__expf(-a)", "__expf(a)"),
    ],
)
def test_a_small_mistake_in_a_variant_is_noticed(
    judge: Judge, name: str, variant: str, right: str, wrong: str
) -> None:
    source = next(v.source for v in variants(name) if v.name == variant)
    assert right in source
    evaluation = judge.judge(get_task(name), Candidate(source=source.replace(right, wrong)))
    assert evaluation.verdict in (Verdict.WRONG_RESULT, Verdict.OUT_OF_BOUNDS)
