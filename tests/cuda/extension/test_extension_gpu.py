"""Light extensions with tensors on a GPU: kernels, streams, allocation, library operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from extension_sources import ARCHIVE_STYLE, HOST_CODE, TYPED

from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.cuda.extension.torch_backend import load_function

torch = pytest.importorskip("torch")
ARCHIVE = Path(__file__).resolve().parents[4] / "shared" / "data" / "sakana_subset.jsonl"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]


def loaded(compiler: ExtensionCompiler, source: str, name: str = "forward") -> Any:
    build = compiler.compile(source)
    assert build.success, build.errors
    return load_function(str(build.shared_object), build.header, name, build.module_name)


def test_kernels_run_on_torchs_current_stream(
    extension_compiler: ExtensionCompiler,
) -> None:
    one_stream = ARCHIVE_STYLE.replace("<<<1, 32>>>", "<<<1, 32, 0, stream>>>")
    forward = loaded(extension_compiler, one_stream)
    x = torch.randn(300, 7, device="cuda")
    expected = 3 * x
    expected.view(-1)[:32] *= 2
    torch.testing.assert_close(forward(x, 3.0), expected)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        found = forward(x, 3.0)
        torch.cuda.synchronize()
    torch.testing.assert_close(found, expected)
    with pytest.raises(RuntimeError, match="must be a CUDA tensor"):
        forward(x.cpu(), 3.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dispatch_over_types_runs_each_kernel(extension_compiler: ExtensionCompiler, dtype: str) -> None:
    x = torch.zeros(3, 5, device="cuda", dtype=getattr(torch, dtype))
    found = loaded(extension_compiler, TYPED)(x, 0.5)
    torch.testing.assert_close(found, torch.full_like(x, 4.0))


def test_memory_of_another_owner_is_a_tensor_on_the_gpu(extension_compiler: ExtensionCompiler) -> None:
    x = torch.randn(4, 5, device="cuda")
    found = loaded(extension_compiler, HOST_CODE, "borrowed")(x)
    assert found.data_ptr() == x.data_ptr()
    torch.testing.assert_close(found, x.flatten())


@pytest.mark.slow
@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the archive's rows are not beside this tree")
def test_every_correct_row_of_the_archive_builds_with_the_light_headers(
    extension_compiler: ExtensionCompiler,
) -> None:
    rows = [json.loads(line) for line in ARCHIVE.read_text().splitlines()]
    sources = [row["CUDA_Code"] for row in rows if row["Correct"]]
    headers = [extension_compiler.compile(source).header for source in sources]
    assert headers == ["light"] * len(sources)
