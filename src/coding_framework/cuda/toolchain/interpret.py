"""From what a compiler left behind to a `CompilationResult`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coding_framework.cuda.toolchain.diagnostics import parse_diagnostics
from coding_framework.cuda.toolchain.messages import RawCompilation
from coding_framework.cuda.toolchain.ptx_identity import code_digest, ptx_key
from coding_framework.cuda.toolchain.ptxas_report import entry_names, is_template, parse_resources, plain_name
from coding_framework.cuda.toolchain.source_scan import definition_order, kernel_line, line_of
from coding_framework.errors import JudgeFault, WorkerDied
from coding_framework.records.compilation import CompilationResult, Diagnostic

_MAX_NAME_FAULTS = 20
_SIGNAL = re.compile(r"ended by (SIG\w+)")
_ENDED_BY_ERRORS = re.compile(r"^\d+ (?:catastrophic )?errors? detected in the compilation", re.MULTILINE)
_PLAIN_SYNTAX = re.compile(
    r"^(?:at the end: )?(?:expected |unrecognized token|missing closing|invalid .* constant)"
)


@dataclass(frozen=True)
class Backend:
    """One compiler that can be asked."""

    name: Literal["nvrtc", "nvcc"]
    toolkit: str
    architecture: str
    function: str
    """What a worker calls."""
    tool: str = ""
    flags: tuple[str, ...] = ()
    """From the configuration; some, such as `--maxrregcount`, leave no trace in the PTX."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What of it belongs in a cache key."""
        return (self.name, self.toolkit)


def understand(
    backend: Backend, raw: RawCompilation, source: str, binary: Path, duration_s: float
) -> CompilationResult:
    """The result of a compiler that ended by itself."""
    diagnostics = parse_diagnostics(raw.log, source)
    if raw.outcome == "rejected":
        if not any(item.severity == "error" for item in diagnostics):
            diagnostics = (*diagnostics, _unplaced_error(backend, raw.log))
        return _failure(backend, diagnostics, duration_s)
    entries = entry_names(raw.ptx)
    faults = _name_faults(entries, source)
    if faults:
        return _failure(backend, (*diagnostics, *faults), duration_s)
    names, resources = definition_order(source, entries), parse_resources(raw.log, backend.architecture)
    return CompilationResult(
        success=True,
        compiler=backend.name,
        toolkit=backend.toolkit,
        architecture=backend.architecture,
        kernel_names=names,
        binary_path=binary,
        ptx=raw.ptx,
        ptx_key=_ptx_key(backend, raw),
        resources=tuple(resources[name] for name in names if name in resources),
        diagnostics=diagnostics,
        duration_s=duration_s,
    )


def _unplaced_error(backend: Backend, log: str) -> Diagnostic:
    """Where the compiler counted errors the source is at fault, even if none can be read.

    A `#line` directive can give the file a name that makes the messages unreadable.
    """
    if _ENDED_BY_ERRORS.search(log) is None:
        raise JudgeFault(f"{backend.name} failed without an error in its messages:\n{log[-2000:]}")
    words = "the compiler rejected the source, in messages that name no line of it (remove #line directives)"
    return Diagnostic(severity="error", message=words)


def _ptx_key(backend: Backend, raw: RawCompilation) -> str:
    digest = raw.code_digest or code_digest(raw.ptx)
    return ptx_key(digest, *backend.identity, backend.architecture, *backend.flags)


def _name_faults(entries: tuple[str, ...], source: str) -> tuple[Diagnostic, ...]:
    if not entries:
        message = "no kernel was generated: a __global__ template is compiled only where it is instantiated"
        return (Diagnostic(severity="error", message=message),)
    mangled = {name: entry for entry in entries if (name := plain_name(entry))}
    order = definition_order(source, tuple(mangled))[:_MAX_NAME_FAULTS]
    return tuple(_missing_extern(name, source, of_template=is_template(mangled[name])) for name in order)


def _missing_extern(name: str, source: str, *, of_template: bool) -> Diagnostic:
    line = kernel_line(source, name)
    if of_template:
        message = (
            f"kernel `{name}` is a template, and its instances cannot be launched by name: make it a "
            '`__device__` function and call it from an `extern "C" __global__` kernel'
        )
    else:
        message = f'kernel `{name}` must be declared extern "C", so that it can be launched by its name'
    text = None if line is None else line_of(source, line)
    return Diagnostic(severity="error", message=message, line=line, source_line=text)


def refused(backend: Backend, faults: tuple[Diagnostic, ...]) -> CompilationResult:
    """A source that no compiler was asked about."""
    return _failure(backend, faults, 0.0)


def asks_which_compiler(backend: Backend, name: str, source: str) -> CompilationResult:
    """A source that may be another one for nvcc, where there is no nvcc."""
    line = next((n for n, text in enumerate(source.split("\n"), 1) if name in text), None)
    words = (
        f"`{name}` lets the code be another one for each compiler, and the one that it is made for, nvcc, is "
        "not here: leave it out"
    )
    text = None if line is None else line_of(source, line)
    return refused(backend, (Diagnostic(severity="error", message=words, line=line, source_line=text),))


def timed_out(backend: Backend, limit_s: float) -> CompilationResult:
    """A compiler that did not end."""
    words = f"the compiler did not end within {limit_s:g} s"
    return _failure(backend, (Diagnostic(severity="error", message=words),), limit_s, timed_out=True)


def out_of_memory(backend: Backend, duration_s: float) -> CompilationResult:
    """A compiler that ran into its memory limit."""
    words = Diagnostic(severity="error", message="the compiler ran out of memory")
    return _failure(backend, (words,), duration_s)


def crashed(backend: Backend, error: WorkerDied, duration_s: float) -> CompilationResult:
    """A compiler that died twice of one source; deaths that may come from outside are raised."""
    signal = _SIGNAL.search(str(error))
    if signal is None or signal[1] not in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"):
        raise error
    words = Diagnostic(severity="error", message=f"the compiler crashed on this source ({signal[1]})")
    return _failure(backend, (words,), duration_s)


def is_worth_a_second_opinion(result: CompilationResult) -> bool:
    """Whether nvcc might accept what NVRTC rejected.

    Both share one parser, so a syntax error that comes first is final; so are limits and names.
    """
    if result.success or result.timed_out:
        return False
    first = result.errors[0]
    ours = first.message.startswith(("kernel `", "no kernel was", "the compiler ", "ptxas:"))
    return not ours and not _PLAIN_SYNTAX.match(first.message)


def _failure(
    backend: Backend, diagnostics: tuple[Diagnostic, ...], duration_s: float, timed_out: bool = False
) -> CompilationResult:
    return CompilationResult(
        success=False,
        compiler=backend.name,
        toolkit=backend.toolkit,
        architecture=backend.architecture,
        diagnostics=diagnostics,
        timed_out=timed_out,
        duration_s=duration_s,
    )
