"""The binding over a backend that is not torch, and what torch's backend says when torch is not there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from extension_sources import HOST_CODE
from numpy_backend import NumpyBackend

from coding_framework.cuda.extension import torch_backend
from coding_framework.cuda.extension.binding import ExtensionCallError, LoadedExtension
from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.errors import MissingExtraError, NotAvailableError


@pytest.fixture(scope="module")
def numpy_extension(extension_compiler: ExtensionCompiler) -> tuple[LoadedExtension, NumpyBackend]:
    backend = NumpyBackend()
    build = extension_compiler.compile(HOST_CODE)
    return LoadedExtension(str(build.shared_object), backend), backend


def test_any_tensor_library_can_stand_behind_an_extension(
    numpy_extension: tuple[LoadedExtension, NumpyBackend],
) -> None:
    extension, backend = numpy_extension
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(extension.call("row_sums", [x]), x.sum(1))
    np.testing.assert_array_equal(extension.call("row_sums", [x.T]), x.sum(0))
    w, b = np.ones((2, 4), np.float32), np.zeros(2, np.float32)
    np.testing.assert_array_equal(extension.call("forward", [x, [w], [b]]), x @ w.T)
    extension.call("double_in_place", [x])
    assert x[2, 3] == 22
    assert not backend.held, "every reference was given back"


ONES = np.ones((2, 2), np.float32)


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        ("forward", [ONES, [ONES], [object()]], "tensors alone"),
        ("forward", [ONES, ONES], "incompatible function arguments"),
        ("facts", [ONES, ONES], "incompatible function arguments"),
        ("views", [ONES], "'max'"),
    ],
)
def test_references_are_given_back_when_a_call_fails(
    numpy_extension: tuple[LoadedExtension, NumpyBackend], function: str, arguments: list[object], words: str
) -> None:
    extension, backend = numpy_extension
    with pytest.raises(ExtensionCallError, match=words):
        extension.call(function, arguments)
    assert not backend.held


def test_two_loads_of_one_file_do_not_share_their_state(
    extension_compiler: ExtensionCompiler, numpy_extension: tuple[LoadedExtension, NumpyBackend]
) -> None:
    other = LoadedExtension(str(extension_compiler.compile(HOST_CODE).shared_object), NumpyBackend())
    assert other.functions == numpy_extension[0].functions
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(other.call("lambda", [x, 2.0]), 2 * x)
    np.testing.assert_array_equal(numpy_extension[0].call("lambda", [x, 3.0]), 3 * x)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="train"):
        torch_backend.TorchBackend()


def test_a_torch_without_its_c_interface_is_refused() -> None:
    class OldTorch:
        __version__ = "2.0.0"

        class _C:
            pass

    old: Any = OldTorch
    with pytest.raises(NotAvailableError, match="install torch 2"):
        torch_backend._handles(old)


def test_the_binding_starts_without_torch_or_pydantic() -> None:
    program = (
        "import sys, coding_framework.cuda.extension.torch_backend;"
        "print(sorted({'torch', 'pydantic', 'numpy', 'structlog'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
