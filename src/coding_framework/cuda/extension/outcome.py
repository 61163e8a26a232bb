"""From what nvcc left behind to an `ExtensionBuild`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from coding_framework.cuda.extension.building import RawBuild
from coding_framework.cuda.extension.records import ExtensionBuild, Header
from coding_framework.cuda.toolchain.diagnostics import parse_diagnostics
from coding_framework.cuda.toolchain.ptxas_report import parse_resources, plain_name
from coding_framework.cuda.toolchain.source_scan import definition_order, find_source_faults, without_comments
from coding_framework.records.compilation import Diagnostic

_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(")
_NO_MODULE = "the source has no PYBIND11_MODULE: nothing can be called in it"
_LOG_TAIL_CHARS = 800


def error(message: str) -> Diagnostic:
    """An error that concerns no line."""
    return Diagnostic(severity="error", message=message)


def source_faults(source: str) -> tuple[Diagnostic, ...]:
    """What is wrong with a source before any compiler sees it."""
    faults = find_source_faults(source)
    if not faults and not _MODULE.search(without_comments(source)):
        return (error(_NO_MODULE),)
    return faults


@dataclass(frozen=True)
class Outcomes:
    """Makes the records of one compiler."""

    architecture: str
    toolkit: str

    def understood(
        self, header: Header, raw: RawBuild, source: str, where: tuple[Path, str], duration_s: float
    ) -> ExtensionBuild:
        """The record of an nvcc that ended by itself; `where` is the shared object and the module's name."""
        diagnostics = parse_diagnostics(raw.log, source)
        if raw.outcome != "built":
            return self.failure(header, _with_an_error(diagnostics, raw.log), duration_s)
        resources = parse_resources(raw.log)
        names = dict.fromkeys(plain_name(name) or name for name in resources)
        return ExtensionBuild(
            success=True,
            header=header,
            architecture=self.architecture,
            toolkit=self.toolkit,
            shared_object=where[0],
            module_name=where[1],
            kernel_names=definition_order(source, tuple(names)),
            resources=tuple(resources.values()),
            diagnostics=diagnostics,
            duration_s=duration_s,
        )

    def failure(
        self, header: Header, diagnostics: tuple[Diagnostic, ...], duration_s: float, timed_out: bool = False
    ) -> ExtensionBuild:
        """The record of a source that gave no shared object."""
        return ExtensionBuild(
            success=False,
            header=header,
            architecture=self.architecture,
            toolkit=self.toolkit,
            diagnostics=diagnostics,
            timed_out=timed_out,
            duration_s=duration_s,
        )


def _with_an_error(diagnostics: tuple[Diagnostic, ...], log: str) -> tuple[Diagnostic, ...]:
    """The linker speaks in another form than the compilers: its last words are taken as they are."""
    if any(item.severity == "error" for item in diagnostics):
        return diagnostics
    return (*diagnostics, error(log.strip()[-_LOG_TAIL_CHARS:] or "nvcc failed without a word"))
