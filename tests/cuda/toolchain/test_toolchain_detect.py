"""What is on this machine, and what is said when something is not."""

from __future__ import annotations

import builtins
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coding_framework.cuda.toolchain import detect, locate, nvrtc, settings, standins
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.errors import ToolchainMissingError


@pytest.fixture(autouse=True)
def fresh_caches() -> Iterator[None]:
    caches = (detect.find_gpus, locate.find_nvcc, locate.find_ptxas, locate.include_dirs, nvrtc.nvrtc_version)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_this_machine_has_nvrtc_and_headers() -> None:
    found = detect.describe_toolchain()
    assert found.nvrtc_version is not None
    assert found.nvrtc_path is not None
    assert found.nvrtc_path.name.startswith("libnvrtc")
    assert (found.include_dirs[0] / "cuda_fp16.h").is_file()
    assert "nvrtc" not in found.missing
    assert bool(found.gpus) != ("gpu" in found.missing)
    assert found.architecture.startswith("sm_")
    assert found.model_validate_json(found.model_dump_json()) == found


def test_every_missing_part_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_nvrtc() -> str:
        raise ToolchainMissingError("NVRTC cannot be loaded")

    monkeypatch.setattr(detect, "nvrtc_version", no_nvrtc)
    monkeypatch.setattr(detect, "find_nvcc", lambda: None)
    monkeypatch.setattr(detect, "include_dirs", lambda: ())
    monkeypatch.setattr(detect, "find_gpus", lambda: (None, (), "no CUDA driver"))
    found = detect.describe_toolchain()
    assert set(found.missing) == {"nvrtc", "nvcc", "headers", "gpu"}
    assert found.nvrtc_path is None
    assert found.architecture == detect.DEFAULT_ARCHITECTURE
    assert detect.usable_nvcc() is None


def test_an_nvcc_without_a_host_compiler_is_not_usable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(detect, "find_nvcc", lambda: tmp_path / "nvcc")
    monkeypatch.setattr(detect, "find_host_compiler", lambda: None)
    assert "needs g++" in detect.describe_toolchain().missing["nvcc"]


def test_an_nvcc_that_does_not_run_is_not_usable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(detect, "find_nvcc", lambda: tmp_path / "nvcc")
    monkeypatch.setattr(detect, "find_host_compiler", lambda: tmp_path / "g++")
    assert "does not run" in detect.describe_toolchain().missing["nvcc"]


class FakeDriver:
    """The few calls that are made of the driver, for a machine with one H200."""

    CUresult = SimpleNamespace(CUDA_SUCCESS="ok")
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
    )

    def __init__(self, status: Any = "ok", count: int = 1) -> None:
        self.status, self.count = status, count

    def cuInit(self, flags: int) -> tuple[Any]:  # noqa: N802
        return (self.status,)

    def cuDriverGetVersion(self) -> tuple[str, int]:  # noqa: N802
        return "ok", 13010

    def cuDeviceGetCount(self) -> tuple[str, int]:  # noqa: N802
        return "ok", self.count

    def cuDeviceGet(self, index: int) -> tuple[str, int]:  # noqa: N802
        return "ok", index

    def cuDeviceGetName(self, length: int, device: int) -> tuple[str, bytes]:  # noqa: N802
        return "ok", b"NVIDIA H200\0\0"

    def cuDeviceGetAttribute(self, name: str, device: int) -> tuple[str, int]:  # noqa: N802
        return "ok", {"major": 9, "minor": 0}[name]

    def cuDeviceTotalMem(self, device: int) -> tuple[str, int]:  # noqa: N802
        return "ok", 2**37


def pretend_driver(monkeypatch: pytest.MonkeyPatch, driver: object) -> None:
    import cuda.bindings

    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)  # type: ignore[arg-type]
    monkeypatch.setattr(cuda.bindings, "driver", driver, raising=False)


def test_a_gpu_is_named_with_its_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_driver(monkeypatch, FakeDriver())
    version, gpus, reason = detect.find_gpus()
    assert (version, reason) == ("13.1", "")
    assert gpus == (detect.Gpu(name="NVIDIA H200", architecture="sm_90", memory_bytes=2**37),)


def test_a_driver_without_devices_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_driver(monkeypatch, FakeDriver(status=SimpleNamespace(name="CUDA_ERROR_NO_DEVICE")))
    assert detect.find_gpus() == (None, (), "the CUDA driver has no device (CUDA_ERROR_NO_DEVICE)")
    detect.find_gpus.cache_clear()
    pretend_driver(monkeypatch, FakeDriver(count=0))
    assert detect.find_gpus()[2] == "the CUDA driver has no device"


def test_a_missing_binding_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("cuda"):
            raise ImportError("no module named cuda")
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ToolchainMissingError, match="pip install cuda-bindings nvidia-cuda-nvrtc"):
        nvrtc.nvrtc_version()


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_tools_are_found_in_a_named_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wanted = executable(tmp_path / "bin" / "nvcc")
    assembler = executable(tmp_path / "bin" / "ptxas")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(locate, "wheel_roots", lambda: ())
    assert locate.find_nvcc() == wanted
    assert locate.find_ptxas() == assembler


def test_headers_of_a_toolkit_serve_where_no_wheel_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda_fp16.h").write_text("")
    monkeypatch.setattr(locate, "wheel_roots", lambda: ())
    monkeypatch.setattr(locate, "toolkit_roots", lambda: (tmp_path,))
    assert locate.include_dirs() == (tmp_path / "include",)


def test_nothing_found_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert locate.wheel_roots() == ()
    monkeypatch.setattr(locate, "toolkit_roots", lambda: ())
    monkeypatch.setenv("PATH", "")
    assert locate.include_dirs() == ()
    assert locate.find_nvcc() is None
    assert locate.find_ptxas() is None
    assert locate.find_host_compiler() is None


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(settings.CACHE_VARIABLE, str(tmp_path))
    assert settings.default_cache_dir() == tmp_path / "compile"
    monkeypatch.delenv(settings.CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert settings.default_cache_dir() == tmp_path / "xdg" / "coding_framework" / "compile"


def test_stand_ins_cover_the_headers_that_models_include_out_of_habit() -> None:
    headers = standins.standin_headers()
    wanted = "math.h cmath stdio.h cstdio float.h cfloat limits.h stdint.h iostream algorithm cuda_runtime.h"
    assert set(wanted.split()) <= set(headers)
    assert len(standins.standin_digest()) == 16
    assert standins.with_prelude("x", plain=True).endswith('#line 1 "kernel.cu"\nx')


def test_macros_of_the_candidates_own_do_not_break_the_headers() -> None:
    names = [*"TUVABCDFNRIabxyze", "low", "high", "first", "last", "out", "result", "count", "size"]
    macros = "".join(f"#define {name} (oops\n" for name in names)
    includes = "".join(
        f"#include <{name}>\n" for name in ("algorithm", "cstddef", "cstdint", "cfloat", "cmath")
    )
    source = f'{macros}{includes}extern "C" __global__ void k(float* p) {{ p[0] = std::max(p[1], p[2]); }}'
    raw = nvrtc.compile_request(CompileRequest(source, "sm_90", (), ()))
    assert raw.outcome == "built", raw.log


def test_ptx_does_not_depend_on_the_temporary_folder() -> None:
    ptx = '\t.file\t1 "/tmp/abc/kernel.cu"\n\t.file\t2 "/tmp/abc/cf/math.h"\n'
    assert nvrtc.plain_file_names(ptx) == '\t.file\t1 "kernel.cu"\n\t.file\t2 "cf/math.h"\n'
