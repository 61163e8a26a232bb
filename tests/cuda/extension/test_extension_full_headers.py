"""The fallback as it really happens: nvcc against torch's own headers, which takes a minute or more."""

from __future__ import annotations

from pathlib import Path

import pytest

from coding_framework.cuda.extension.binding import ExtensionCallError
from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.cuda.extension.torch_backend import load_function

torch = pytest.importorskip("torch")
SOURCE = (Path(__file__).parent / "sources" / "beyond_light.cu").read_text()


@pytest.mark.slow
def test_what_the_light_headers_lack_is_built_with_torchs(extension_compiler: ExtensionCompiler) -> None:
    patient = extension_compiler.settings.model_copy(update={"full_timeout_s": 900.0})  # a busy machine
    with ExtensionCompiler(patient) as compiler:
        build = compiler.compile(SOURCE)
    assert build.success, build.errors
    assert build.header == "full"
    assert build.kernel_names == ("unused_kernel",)
    assert (compiler.stats.full, compiler.stats.fallbacks, compiler.stats.light) == (1, 1, 0)
    forward = load_function(str(build.shared_object), "full", module_name=build.module_name)
    x = torch.randn(3, 4)
    torch.testing.assert_close(forward(x), x[0:2, 1:] * 2)
    with pytest.raises(ExtensionCallError, match="backward"):
        load_function(str(build.shared_object), "full", "backward", build.module_name)


def test_a_file_that_is_no_module_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.so").write_bytes(b"no module")
    with pytest.raises(ExtensionCallError, match=r"broken\.so"):
        load_function(str(tmp_path / "broken.so"), "full", module_name="broken")
