"""What building an extension gives."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from coding_framework.cuda.toolchain.detect import DEFAULT_ARCHITECTURE
from coding_framework.cuda.toolchain.settings import GIB, default_cache_dir, default_workers
from coding_framework.records.base import Record
from coding_framework.records.compilation import Diagnostic, KernelResources

Header = Literal["light", "full"]


def default_extension_dir() -> Path:
    """Beside the kernels' own cache."""
    return default_cache_dir().parent / "extension"


class ExtensionSettings(Record):
    """What `ExtensionCompiler` may be told."""

    architecture: str = Field(default="auto", pattern=r"^(auto|sm_\d+[af]?)$")
    """Real architecture such as `sm_90`; `auto` is the first GPU's, or the default where there is none."""
    light_timeout_s: float = Field(default=30.0, gt=0)
    """Limit of a build against the light headers."""
    full_timeout_s: float = Field(default=180.0, gt=0)
    """Limit of a build against torch's headers."""
    memory_limit_bytes: int = Field(default=8 * GIB, ge=GIB // 2)
    """Address space of each process of a build."""
    cache_dir: Path = Field(default_factory=default_extension_dir)
    """Folder of finished builds."""
    cache_limit_bytes: int = Field(default=2 * 10**9, ge=0)
    """Builds unread for longest go when the folder grows over this."""
    extra_flags: tuple[str, ...] = ()
    """Passed to nvcc as they are."""
    fall_back: bool = True
    """Whether a source that does not fit the light headers is built with torch's."""
    workers: int = Field(default_factory=default_workers, ge=1, le=64)
    """Builds at a time."""


class ExtensionBuild(Record):
    """The outcome of building one extension. `success` is false for the candidate's faults only."""

    success: bool
    """Whether there is a shared object."""
    header: Header
    """Which headers gave this answer."""
    architecture: str = DEFAULT_ARCHITECTURE
    """Real architecture compiled for."""
    toolkit: str = ""
    """Version of nvcc."""
    shared_object: Path | None = None
    """In the cache; loaded by `torch_backend.load_function`."""
    module_name: str = ""
    """Name of the Python module, for `full`."""
    kernel_names: tuple[str, ...] = ()
    """Plain names of the kernels that were generated, in order of definition."""
    resources: tuple[KernelResources, ...] = ()
    """One for each generated kernel, under its linker name; a template gives several."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Errors, warnings and notes in the order they came."""
    timed_out: bool = False
    """nvcc did not end within its limit."""
    duration_s: float = Field(ge=0)
    """Wall-clock time of all passes of the build that filled the cache."""
    from_cache: bool = False
    """Whether that build happened earlier."""

    @model_validator(mode="after")
    def _a_success_has_a_shared_object(self) -> ExtensionBuild:
        if self.success != (self.shared_object is not None):
            raise ValueError("a build succeeds if and only if it has a shared object")
        if not self.success and not self.errors:
            raise ValueError("a failed build says why")
        return self

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.diagnostics if item.severity == "error")


class ExtensionStats(Record):
    """How the builds of one compiler went."""

    light: int = Field(default=0, ge=0)
    """Built with the light headers."""
    full: int = Field(default=0, ge=0)
    """Built with torch's headers after the light ones did not fit."""
    failed: int = Field(default=0, ge=0)
    """Built with neither."""
    fallbacks: int = Field(default=0, ge=0)
    """How often torch's headers were tried, whatever came of it."""
    cached: int = Field(default=0, ge=0)
    """Answered from the cache; counted nowhere else."""
