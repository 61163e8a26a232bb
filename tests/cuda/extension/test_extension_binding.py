"""Light extensions called from Python with torch's tensors on the CPU, compared with torch itself."""

from __future__ import annotations

import ctypes.util
from typing import Any

import pytest
from extension_sources import HOST_CODE, IDIOMS, TYPED

from coding_framework.cuda.extension import abi
from coding_framework.cuda.extension.binding import ExtensionCallError, LoadedExtension
from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.cuda.extension.torch_backend import TorchBackend, load_function

torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.fixture(scope="module")
def backend() -> TorchBackend:
    return TorchBackend()


@pytest.fixture(scope="module")
def host_code(extension_compiler: ExtensionCompiler, backend: TorchBackend) -> LoadedExtension:
    build = extension_compiler.compile(HOST_CODE)
    assert build.success, build.errors
    return LoadedExtension(str(build.shared_object), backend)


def matrices() -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(4, 6, generator=generator), torch.randn(4, 6, generator=generator) + 3


def agree(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected)
    assert found.stride() == expected.stride()


def test_a_forward_over_lists_of_tensors_gives_what_torch_gives(host_code: LoadedExtension) -> None:
    x, weights, biases = (
        torch.randn(5, 8),
        [torch.randn(7, 8), torch.randn(3, 7)],
        [torch.randn(7), torch.randn(3)],
    )
    expected = F.linear(torch.relu(F.linear(x, weights[0], biases[0])), weights[1], biases[1])
    agree(host_code.call("forward", [x, weights, biases]), expected)
    parameters = [torch.nn.ParameterList(tensors) for tensors in (weights, biases)]
    with torch.no_grad():
        agree(host_code.call("forward", [x, *parameters]), expected)


def test_host_code_reads_and_writes_the_tensors_own_memory(host_code: LoadedExtension) -> None:
    x, _ = matrices()
    agree(host_code.call("row_sums", [x]), x.sum(1))
    agree(host_code.call("row_sums", [x.t()]), x.sum(0))
    before = x.clone()
    assert host_code.call("double_in_place", [x]) is None
    agree(x, 2 * before)


def test_views_and_reductions_are_torchs(host_code: LoadedExtension) -> None:
    x, _ = matrices()
    values, places = x.max(1)
    expected = [
        *(x.t().contiguous(), x.view(-1), x[0], x[1:3], x.unsqueeze(0).permute(2, 0, 1), values, places),
        *(x.t().reshape(2, -1), x[:, -1], x.sum(0, keepdim=True), x.mean(), x.softmax(-1)),
        *(torch.cat([x, x], 1), x.clamp(-0.5, 0.5), -x, x.double(), x.flatten(), x.squeeze()),
    ]
    found = host_code.call("views", [x])
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        agree(ours, theirs)
    assert found[1].data_ptr() == x.data_ptr(), "a view shares its memory"


def test_arithmetic_is_torchs(host_code: LoadedExtension) -> None:
    a, b = matrices()
    expected = [
        *(a + b, a - b, a * b, a / b, a + 1, 2.0 * a, 1 - a, 1.0 / a, (a + b) * 2, a @ b.t(), a + 3 * b),
        *(
            torch.addmm(torch.ones(4, 4), a, b.t()),
            (a @ b.t()).unsqueeze(0),
            a.sigmoid(),
            a.tanh(),
            F.gelu(a),
        ),
        *(a.exp(), (a * a).sqrt(), a @ b.t(), (a > b).float(), torch.where(a > b, a, b), a**2),
        *(
            torch.full((2,), 7.0),
            torch.maximum(a, b),
            torch.full_like(a, 3),
            b,
            torch.arange(5),
            torch.ones_like(a.t()),
        ),
    ]
    found = host_code.call("arithmetic", [a, b])
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        agree(ours, theirs)


def test_defaults_optional_tensors_and_lists_of_numbers_arrive(host_code: LoadedExtension) -> None:
    x, w, b = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4)
    agree(host_code.call("convolve", [x, w]), F.conv2d(x, w))
    agree(host_code.call("convolve", [x, w, b, [2, 2], 1]), F.conv2d(x, w, b, stride=2, padding=1))


def test_tuples_numbers_and_strings_come_back(host_code: LoadedExtension) -> None:
    x, _ = matrices()
    same, count, total, contiguous, text = host_code.call("facts", [x.t(), "x"])  # type: ignore[misc]
    agree(same, x.t())
    assert (count, contiguous, text) == (24, False, "x:cpu")
    assert total == pytest.approx(float(x.sum()), rel=1e-5)


def test_other_types_overloads_and_lambdas(host_code: LoadedExtension) -> None:
    x, _ = matrices()
    agree(host_code.call("half_of", [x]), torch.full((2, 2), 0.5, dtype=torch.float16))
    agree(host_code.call("lambda", [x, 3]), x * 3)
    assert host_code.call("overloaded", [4]) == 5
    assert host_code.call("overloaded", [4.0]) == 4.5
    assert "forward" in host_code.functions


def test_a_tensor_over_anothers_memory_shares_it(host_code: LoadedExtension) -> None:
    x, _ = matrices()
    borrowed: Any = host_code.call("borrowed", [x])
    borrowed.zero_()
    assert float(x.abs().sum()) == 0.0


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        ("forward", lambda: [torch.randn(3), [], []], "x must be a matrix, but has 1 dimensions"),
        (
            "forward",
            lambda: [torch.randn(2, 3), [torch.randn(4, 5)], [torch.randn(4)]],
            "cannot be multiplied",
        ),
        ("forward", lambda: [torch.randn(2, 3)], "incompatible function arguments"),
        ("row_sums", lambda: [4], "incompatible function arguments"),
        ("row_sums", lambda: [torch.randn(2, 2).double()], "expected scalar type Float but found Double"),
        ("row_sums", lambda: [torch.randn(2)], "Dimension out of range|expected 2 dims"),
        ("nothing", list, "no such function"),
        ("throws_a_number", list, "no std::exception"),
        ("lambda", lambda: [object(), 1.0], "no argument of type object"),
        ("forward", lambda: [torch.randn(2, 2), [1, "a"], []], "tensors alone, or numbers alone"),
        ("borrowed", lambda: [torch.empty([1] * 17)], "17 dimensions"),
    ],
)
def test_what_the_extension_throws_comes_back_in_its_words(
    host_code: LoadedExtension, function: str, arguments: Any, words: str
) -> None:
    with pytest.raises(ExtensionCallError, match=words):
        host_code.call(function, arguments())


def test_no_tensor_outlives_its_last_user(host_code: LoadedExtension) -> None:
    x, w, b = torch.randn(64, 64), [torch.randn(64, 64)] * 3, [torch.randn(64)] * 3
    before = x._use_count(), w[0]._use_count()
    for _ in range(5):
        result: Any = host_code.call("forward", [x, w, b])
        with pytest.raises(ExtensionCallError):
            host_code.call("forward", [x, [w[0]], [torch.randn(3)]])
        with pytest.raises(ExtensionCallError):
            host_code.call("forward", [x, w, object()])
    assert (x._use_count(), w[0]._use_count()) == before
    assert result._use_count() == before[0]


def test_library_operations_are_counted(host_code: LoadedExtension, backend: TorchBackend) -> None:
    x, _ = matrices()
    backend.called_ops.clear()
    host_code.call("forward", [x, [torch.randn(3, 6)], [torch.randn(3)]])
    assert dict(backend.called_ops) == {"linear": 1}


def test_half_dispatch_and_unsaid_standard_headers_fit(extension_compiler: ExtensionCompiler) -> None:
    build = extension_compiler.compile(TYPED)
    assert build.success, build.errors
    assert build.header == "light"
    assert build.kernel_names == ("add_kernel",)
    assert len(build.resources) == 3, "one kernel for each of double, float and half"
    forward = load_function(str(build.shared_object), build.header)
    agree(forward(torch.zeros(2, 2), 1.0), torch.full((2, 2), 3.0))


def test_the_usual_idioms_fit_and_mean_what_they_mean_in_torch(extension_compiler: ExtensionCompiler) -> None:
    build = extension_compiler.compile(IDIOMS)
    assert build.success, build.errors
    assert build.header == "light"
    assert build.kernel_names == ("sum_rows", "halves")
    forward = load_function(str(build.shared_object), build.header)
    x = torch.randn(2, 3)
    agree(forward(x), x.sum(-1))
    agree(forward(x, torch.tensor(3.0), [3, 3], 1), x.sum(1) * 3 * 2)
    with pytest.raises(ExtensionCallError, match=r"sizes are \[3, 2\] and \[1, 3\]"):
        forward(x.t())


def test_a_missing_function_and_a_foreign_library_are_said(
    host_code: LoadedExtension, extension_compiler: ExtensionCompiler
) -> None:
    with pytest.raises(ExtensionCallError, match="no function `backward`"):
        host_code.function("backward")
    with pytest.raises(ExtensionCallError, match="cannot be loaded as a light extension"):
        LoadedExtension(ctypes.util.find_library("c") or "libc.so.6", TorchBackend())


def test_an_extension_of_another_version_is_refused(
    extension_compiler: ExtensionCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abi, "ABI_VERSION", abi.ABI_VERSION + 1)
    build = extension_compiler.compile(HOST_CODE)
    with pytest.raises(ExtensionCallError, match="another version"):
        LoadedExtension(str(build.shared_object), TorchBackend())
