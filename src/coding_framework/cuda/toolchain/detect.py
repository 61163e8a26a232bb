"""What CUDA tools and devices this machine has, and what each missing one would give.

Asking never fails: whatever is absent comes back as a reason in words.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from coding_framework.cuda.toolchain.locate import find_host_compiler, find_nvcc, find_ptxas, include_dirs
from coding_framework.cuda.toolchain.nvcc import nvcc_version
from coding_framework.cuda.toolchain.nvrtc import nvrtc_version
from coding_framework.errors import ToolchainMissingError
from coding_framework.records.base import Record

DEFAULT_ARCHITECTURE = "sm_90"


class Gpu(Record):
    """One device of the driver."""

    name: str
    """E.g. `NVIDIA H200`."""
    architecture: str
    """E.g. `sm_90`."""
    memory_bytes: int
    """All of its memory, whoever uses it."""


class Toolchain(Record):
    """Everything found, and why the rest is not there."""

    nvrtc_version: str | None
    """E.g. `13.0`."""
    nvrtc_path: Path | None
    """The library that is loaded."""
    nvcc_version: str | None
    """E.g. `13.0`; None when there is no usable one."""
    nvcc_path: Path | None
    """The referee."""
    ptxas_path: Path | None
    """The assembler."""
    include_dirs: tuple[Path, ...]
    """Where CUDA's own headers are."""
    driver_version: str | None
    """Highest CUDA version the driver supports, e.g. `13.0`."""
    gpus: tuple[Gpu, ...]
    """Devices, in the driver's order."""
    architecture: str
    """What `auto` compiles for."""
    architecture_reason: str
    """Why that one, in words."""
    missing: dict[str, str] = Field(default_factory=dict)
    """Part → why it is not there and what it would give."""


def describe_toolchain() -> Toolchain:
    """Look at this machine."""
    missing: dict[str, str] = {}
    nvrtc = _nvrtc(missing)
    nvcc_path, nvcc = _nvcc(missing)
    driver, gpus, reason = find_gpus()
    if reason:
        missing["gpu"] = f"{reason}; kernels run on the emulator, and times are modelled"
    architecture, chosen_because = choose_architecture("auto")
    folders = include_dirs()
    if not folders:
        missing["headers"] = (
            "no CUDA headers: pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl"
        )
    return Toolchain(
        nvrtc_version=nvrtc,
        nvrtc_path=_loaded_library("libnvrtc.so") if nvrtc else None,
        nvcc_version=nvcc,
        nvcc_path=nvcc_path,
        ptxas_path=find_ptxas(),
        include_dirs=folders,
        driver_version=driver,
        gpus=gpus,
        architecture=architecture,
        architecture_reason=chosen_because,
        missing=missing,
    )


def choose_architecture(wanted: str) -> tuple[str, str]:
    """(architecture, why that one): `auto` asks the driver, and says so where there is none."""
    if wanted != "auto":
        return wanted, "named in the settings"
    _, gpus, reason = find_gpus()
    if gpus:
        return gpus[0].architecture, f"that of the first GPU, {gpus[0].name}"
    return DEFAULT_ARCHITECTURE, f"the default: {reason}"


def usable_nvcc() -> tuple[Path, str] | None:
    """(path, version) of an nvcc that has a host compiler, or None."""
    path, version = _nvcc({})
    return None if path is None or version is None else (path, version)


def _nvrtc(missing: dict[str, str]) -> str | None:
    try:
        return nvrtc_version()
    except ToolchainMissingError as error:
        missing["nvrtc"] = str(error)
        return None


def _nvcc(missing: dict[str, str]) -> tuple[Path | None, str | None]:
    path = find_nvcc()
    if path is None:
        missing["nvcc"] = "no nvcc: sources that NVRTC rejects get no second opinion"
        return None, None
    if find_host_compiler() is None:
        missing["nvcc"] = f"{path} needs g++, which is not installed: no second opinion"
        return None, None
    try:
        return path, nvcc_version(path)
    except ToolchainMissingError as error:
        missing["nvcc"] = str(error)
        return None, None


@cache
def find_gpus() -> tuple[str | None, tuple[Gpu, ...], str]:
    """(driver version, devices, why there are none) from the CUDA driver; makes no context."""
    try:
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
    except Exception:  # the binding raises various things when there is no driver library
        return None, (), "no CUDA driver found"
    if status != driver.CUresult.CUDA_SUCCESS:
        return None, (), f"the CUDA driver has no device ({status.name})"
    _, number = driver.cuDriverGetVersion()
    _, count = driver.cuDeviceGetCount()
    gpus = tuple(_gpu(driver, index) for index in range(count))
    return f"{number // 1000}.{number % 1000 // 10}", gpus, "" if gpus else "the CUDA driver has no device"


def _gpu(api: Any, index: int) -> Gpu:
    attribute = api.CUdevice_attribute
    _, device = api.cuDeviceGet(index)
    _, name = api.cuDeviceGetName(128, device)
    major_name = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    minor_name = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
    _, major = api.cuDeviceGetAttribute(major_name, device)
    _, minor = api.cuDeviceGetAttribute(minor_name, device)
    _, memory_bytes = api.cuDeviceTotalMem(device)
    return Gpu(
        name=name.split(b"\0")[0].decode(), architecture=f"sm_{major}{minor}", memory_bytes=memory_bytes
    )


def _loaded_library(stem: str) -> Path | None:
    """The file a loaded library came from."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    paths = (line.split(maxsplit=5)[-1] for line in lines if stem in line)
    return next((Path(path) for path in paths if path.startswith("/")), None)
