"""Taking a candidate in, in the sandbox: Python source that defines a module, or a built extension."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from coding_framework.cuda.executors.host.exchange.protocol import Load, Problem

CANDIDATE_FILE = "candidate.py"


class LoadProblem(Exception):
    """The candidate cannot be used; says which problem it is."""

    def __init__(self, kind: Problem, words: str) -> None:
        super().__init__(words)
        self.kind = kind


@dataclass(frozen=True)
class Loaded:
    """Either a class to make instances of, or a function that takes everything as arguments."""

    module_class: Callable[..., Any] | None = None
    function: Callable[..., Any] | None = None


def load_candidate(request: Load) -> Loaded:
    """Run its top level; raises `LoadProblem`."""
    if request.contract == "extension":
        return Loaded(function=_load_extension(request))
    return Loaded(module_class=_load_class(request))


def _load_extension(request: Load) -> Callable[..., Any]:
    from coding_framework.cuda.extension.torch_backend import load_function

    path = Path.cwd() / f"{request.module_name or 'candidate'}.so"
    path.write_bytes(request.shared_object)
    try:
        return load_function(str(path), request.header, "forward", request.module_name)
    except Exception as error:
        raise LoadProblem("raised", f"the built extension cannot be loaded: {error}") from error


def _load_class(request: Load) -> Callable[..., Any]:
    """Written to a file, because Triton and inspect read sources from files."""
    path = Path.cwd() / CANDIDATE_FILE
    path.write_text(request.source)
    module = ModuleType("candidate")
    module.__file__ = str(path)
    sys.modules["candidate"] = module
    try:
        code = compile(request.source, str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise LoadProblem("compile", f"{type(error).__name__}: {error}") from error
    try:
        exec(code, module.__dict__)
    except Exception as error:
        raise LoadProblem(_kind_of(error), f"{type(error).__name__}: {error}") from error
    found = getattr(module, request.class_name, None)
    if not callable(found):
        raise LoadProblem("no_class", f"the source defines no class {request.class_name}")
    return found  # type: ignore[no-any-return]


def _kind_of(error: Exception) -> Problem:
    words = str(error)
    return "compile" if "Error building extension" in words or "CompilationError" in words else "raised"
