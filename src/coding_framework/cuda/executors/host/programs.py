"""From a candidate to what a child loads: compile an extension, or pass a module's source on."""

from __future__ import annotations

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.host.arguments import (
    ForwardParameter,
    NoForward,
    forward_parameters,
    plan_arguments,
)
from coding_framework.cuda.executors.host.session import Program
from coding_framework.cuda.executors.host.verifier.records import ShapeFacts
from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.cuda.extension.records import ExtensionBuild, ExtensionSettings
from coding_framework.cuda.rejection import Rejected
from coding_framework.records import Candidate, Verdict

_MAX_ERRORS_QUOTED = 3


class ProgramBuilder:
    """Builds programs; starts the extension compiler when the first extension comes."""

    def __init__(self, config: JudgeConfig, compiler: ExtensionCompiler | None = None) -> None:
        self._config = config
        self._compiler = compiler
        self.last_build: ExtensionBuild | None = None
        """What the compiler said about the last extension."""

    def build(self, candidate: Candidate, facts: ShapeFacts) -> Program:
        """Raises `Rejected` for a source that does not compile or cannot be called."""
        if candidate.contract == "module":
            return Program("module", source=candidate.source)
        if candidate.contract == "extension":
            return self._build_extension(candidate.source, facts)
        raise Rejected(Verdict.BAD_LAUNCH_PLAN, "contract `kernel` has no host code: it needs no module task")

    def close(self) -> None:
        if self._compiler is not None:
            self._compiler.close()

    def _build_extension(self, source: str, facts: ShapeFacts) -> Program:
        parameters = _callable_parameters(source, facts)
        if self._compiler is None:
            config = self._config
            self._compiler = ExtensionCompiler(
                ExtensionSettings(
                    architecture=config.architecture, extra_flags=config.compile_flags, workers=1
                )
            )
        self.last_build = build = self._compiler.compile(source)
        if build.timed_out:
            raise Rejected(Verdict.COMPILE_TIMEOUT, "the compiler did not finish in time: simplify the code")
        if build.shared_object is None:
            raise Rejected(Verdict.COMPILE_ERROR, _error_words(build))
        return Program(
            "extension",
            shared_object=build.shared_object.read_bytes(),
            header=build.header,
            module_name=build.module_name,
            parameters=parameters,
        )


def _callable_parameters(source: str, facts: ShapeFacts) -> tuple[ForwardParameter, ...]:
    try:
        parameters = forward_parameters(source)
        plan_arguments(parameters, facts.layout.call, facts.init_values)
    except NoForward as reason:
        raise Rejected(Verdict.NO_CANDIDATE, str(reason)) from None
    return parameters


def _error_words(build: ExtensionBuild) -> str:
    quoted = [
        (f"line {error.line}: " if error.line else "") + error.message
        for error in build.errors[:_MAX_ERRORS_QUOTED]
    ]
    more = len(build.errors) - len(quoted)
    return "it does not compile. " + "; ".join(quoted) + (f"; and {more} more errors" if more > 0 else "")
