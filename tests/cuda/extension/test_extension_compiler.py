"""Builds against the light headers: what fits, what is the candidate's fault, what needs the full ones."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from extension_sources import (
    ARCHIVE_STYLE,
    HOST_CODE,
    NO_MODULE,
    SYNTAX_ERROR,
    TYPED,
    UNKNOWN_METHOD,
    UNKNOWN_NAME,
)

from coding_framework.cuda.extension import compiler as compiler_module
from coding_framework.cuda.extension.building import BuildRequest, RawBuild
from coding_framework.cuda.extension.compiler import ExtensionCompiler
from coding_framework.cuda.extension.fit import is_worth_the_full_headers
from coding_framework.cuda.extension.records import ExtensionBuild, ExtensionSettings, default_extension_dir
from coding_framework.cuda.extension.store import ExtensionStore
from coding_framework.errors import StorageError, ToolchainMissingError
from coding_framework.records.compilation import Diagnostic

ARCHIVE = Path(__file__).resolve().parents[4] / "shared" / "data" / "sakana_subset.jsonl"

REJECTION = 'class "at::Tensor" has no member "sparse_resize_count"'


def fails(message: str) -> tuple[Diagnostic, ...]:
    return (Diagnostic(severity="error", message=message),)


def test_a_source_of_the_archives_kind_fits_and_is_built_once(extension_compiler: ExtensionCompiler) -> None:
    first = extension_compiler.compile(ARCHIVE_STYLE)
    assert first.success, first.errors
    assert first.header == "light"
    assert first.kernel_names == ("scale_kernel", "twice")
    assert first.shared_object is not None
    assert first.shared_object.is_file()
    before = extension_compiler.stats
    second = extension_compiler.compile(ARCHIVE_STYLE)
    assert second.from_cache
    assert second.shared_object == first.shared_object
    assert extension_compiler.stats.cached == before.cached + 1
    assert extension_compiler.stats.light == before.light


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (SYNTAX_ERROR, 'expected a ";"'),
        (UNKNOWN_NAME, 'identifier "BLOCK" is undefined'),
        (NO_MODULE, "no PYBIND11_MODULE"),
        (ARCHIVE_STYLE.replace("<vector>", "</etc/passwd>").replace("<cuda.h>", "</etc/passwd>"), "no paths"),
    ],
)
def test_a_fault_of_the_candidates_own_does_not_cost_a_full_build(
    extension_compiler: ExtensionCompiler, source: str, words: str
) -> None:
    before = extension_compiler.stats
    build = extension_compiler.compile(source)
    assert not build.success
    assert words in build.errors[0].message
    assert extension_compiler.stats.fallbacks == before.fallbacks
    assert extension_compiler.stats.failed == before.failed + 1


@pytest.mark.parametrize(
    ("message", "worth"),
    [
        ('class "at::Tensor" has no member "map"', True),
        ('namespace "torch" has no member "fft"', True),
        ('namespace "std" has no member "regex"', True),
        ('identifier "AT_DISPATCH_V2" is undefined', True),
        ('cannot open source file "ATen/native/cuda/Loops.cuh"', True),
        ("static assertion failed: pybind11: the light header does not know this type", True),
        ('no instance of overloaded function "std::min" matches the argument list', False),
        ('identifier "MAX_WEIGHT_SIZE" is undefined', False),
        ('argument of type "const float *" is incompatible with parameter of type "float *"', False),
        ("ptxas: File uses too much global constant data (0x401000 bytes, 0x10000 max)", False),
        ('expected a ";"', False),
        ("in function `forward(at::Tensor)': undefined reference to `elsewhere()'", False),
    ],
)
def test_the_first_error_says_whether_the_headers_may_be_at_fault(message: str, worth: bool) -> None:
    assert is_worth_the_full_headers(fails(message)) is worth
    assert is_worth_the_full_headers((*fails('expected a ";"'), *fails(message))) is False


def test_the_light_headers_reject_what_they_do_not_have(extension_compiler: ExtensionCompiler) -> None:
    settings = extension_compiler.settings.model_copy(update={"fall_back": False})
    with ExtensionCompiler(settings) as alone:
        build = alone.compile(UNKNOWN_METHOD)
    assert not build.success
    assert build.header == "light"
    assert build.errors[0].message == REJECTION
    assert build.errors[0].line is not None
    assert is_worth_the_full_headers(build.errors)
    assert alone.stats.fallbacks == 0


@pytest.mark.parametrize(
    ("line", "worth"), [("using torch::indexing::Slice;", True), ("using helpers::Slice;", False)]
)
def test_where_the_compiler_names_nothing_the_line_decides(line: str, worth: bool) -> None:
    message = 'name followed by "::" must be a class or namespace name'
    found = Diagnostic(severity="error", message=message, line=3, source_line=line)
    assert is_worth_the_full_headers((found,)) is worth


class AnsweringWorker:
    """A worker whose light build ends as the test above saw it, and whose full one ends as told."""

    def __init__(self, answer: RawBuild) -> None:
        self.answer = answer
        self.asked = 0

    def call(self, function: str, request: BuildRequest, *, timeout_s: float) -> RawBuild | None:
        if function.endswith(":build_runtime"):
            return None
        if function.endswith(":build_light"):
            assert timeout_s == 30.0
            return RawBuild("rejected", f"kernel.cu(27): error: {REJECTION}\n")
        self.asked += 1
        assert timeout_s == 180.0
        return self.answer

    def close(self) -> None:
        pass


def compile_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: RawBuild
) -> tuple[ExtensionCompiler, AnsweringWorker, ExtensionBuild]:
    workers = AnsweringWorker(answer)
    monkeypatch.setattr(compiler_module, "Worker", lambda **_: workers)
    compiler = ExtensionCompiler(ExtensionSettings(cache_dir=tmp_path, architecture="sm_90", workers=1))
    return compiler, workers, compiler.compile(UNKNOWN_METHOD)


def test_what_does_not_fit_is_built_with_the_full_headers_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, workers, build = compile_with(tmp_path, monkeypatch, RawBuild("built", "", b"a module"))
    assert build.success
    assert build.header == "full"
    assert workers.asked == 1
    assert build.module_name.startswith("cf_extension_")
    assert (compiler.stats.full, compiler.stats.fallbacks, compiler.stats.light) == (1, 1, 0)
    assert compiler.compile(UNKNOWN_METHOD).from_cache
    assert workers.asked == 1


def test_the_full_headers_have_the_last_word_where_they_know_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (
        'kernel.cu(3): error: the full headers\' words\n\n1 error detected in the compilation of "kernel.cu".'
    )
    _, _, build = compile_with(tmp_path, monkeypatch, RawBuild("rejected", log))
    assert (build.header, build.errors[0].message) == ("full", "the full headers' words")


def test_headers_without_cuda_do_not_overrule_the_light_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = RawBuild("rejected", "kernel.cu(3): error: no cuda here\n", has_cuda_headers=False)
    compiler, _, build = compile_with(tmp_path, monkeypatch, answer)
    assert build.header == "light"
    assert "sparse_resize_count" in build.errors[0].message
    assert compiler.stats.failed == 1


def test_without_torch_the_failure_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, workers, build = compile_with(tmp_path, monkeypatch, RawBuild("unavailable", "no torch"))
    assert not build.success
    assert "coding_framework[train]" in build.diagnostics[-1].message
    compiler.compile(UNKNOWN_METHOD)
    assert workers.asked == 2, "torch may have been installed since: not cached"


def test_a_build_that_does_not_end_is_a_failure_and_is_not_cached(
    extension_compiler: ExtensionCompiler,
) -> None:
    quick = {"light_timeout_s": 0.05, "extra_flags": ("-DANOTHER_KEY",)}
    with ExtensionCompiler(extension_compiler.settings.model_copy(update=quick)) as compiler:
        builds = [compiler.compile(ARCHIVE_STYLE) for _ in range(2)]
    assert all(build.timed_out and not build.from_cache for build in builds)
    assert "did not end within" in builds[0].errors[0].message


def test_a_linker_error_is_told_in_the_linkers_words(extension_compiler: ExtensionCompiler) -> None:
    before = extension_compiler.stats
    source = ARCHIVE_STYLE.replace("torch::Tensor forward(", "int elsewhere();\ntorch::Tensor forward(")
    build = extension_compiler.compile(source.replace("const int n =", "const int n = elsewhere() +"))
    assert not build.success
    assert "elsewhere" in " ".join(item.message for item in build.errors)
    assert extension_compiler.stats.fallbacks == before.fallbacks


def test_a_machine_without_nvcc_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_module, "usable_nvcc", lambda: None)
    with pytest.raises(ToolchainMissingError, match="nvcc and g"):
        ExtensionCompiler()


def test_the_cache_lies_beside_the_kernels_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path))
    assert default_extension_dir() == tmp_path / "extension"


def stored(store: ExtensionStore, key: str, content: bytes) -> None:
    build = ExtensionBuild(success=True, header="light", shared_object=store.path(key, "so"), duration_s=1.0)
    store.put(key, build, content)


def test_a_torn_entry_does_not_exist(tmp_path: Path) -> None:
    store = ExtensionStore(tmp_path, limit_bytes=10**9)
    stored(store, "ab12", b"binary")
    assert store.get("ab12") is not None
    store.path("ab12", "so").write_bytes(b"bin")
    assert store.get("ab12") is None


def test_the_builds_unread_for_longest_go_first(tmp_path: Path) -> None:
    store = ExtensionStore(tmp_path, limit_bytes=9000)
    for key in ("aa", "bb"):
        stored(store, key, b"x" * 4000)
        os.utime(store.path(key, "json"), (1000.0, 1000.0 + (key == "bb")))
    stored(store, "cc", b"x" * 4000)
    assert [store.get(key) is not None for key in ("aa", "bb", "cc")] == [False, True, True]


def test_an_unwritable_cache_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="CODING_FRAMEWORK_CACHE"):
        stored(ExtensionStore(tmp_path / "file", limit_bytes=1), "ab", b"")


def test_a_build_is_a_success_if_and_only_if_it_has_a_shared_object() -> None:
    with pytest.raises(ValueError, match="if and only if"):
        ExtensionBuild(success=True, header="light", duration_s=0.0)
    with pytest.raises(ValueError, match="says why"):
        ExtensionBuild(success=False, header="light", duration_s=0.0)


@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the archive's rows are not in this tree")
@pytest.mark.parametrize("row", [0, 40, 70])
def test_correct_rows_of_the_archive_fit(extension_compiler: ExtensionCompiler, row: int) -> None:
    entry = json.loads(ARCHIVE.read_text().splitlines()[row])
    assert entry["Correct"]
    build = extension_compiler.compile(entry["CUDA_Code"])
    assert build.success, build.errors
    assert build.header == "light"


def test_every_own_source_fits_the_light_headers(extension_compiler: ExtensionCompiler) -> None:
    assert all(extension_compiler.compile(source).header == "light" for source in (HOST_CODE, TYPED))
