"""No text raises, hangs or takes the process down, and none takes longer than its length explains."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.cuda.analysis import code_index, prepared, syntax
from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.records import MAX_SOURCE_BYTES

CUDA_PIECES = r"""
( ) { } [ ] < > ; , : :: * & ! ~ ? # ## \ " ' R"( )" /* */ // asm asm( __asm__ if for( while(1) do struct
template< operator new delete return int float __global__ __device__ __shared__ void f(int) x y 0 1 0x10
(float*) [&] %: ??= reinterpret_cast<int*>( <<<1,1>>>( #include A(A(A( B _Pragma("x") __attribute__((x))
\u0073 system fork( extern namespace using const static constexpr enum{ sizeof( case default: goto @ $ ` …
"""
PYTHON_PIECES = r"""
import os from x as y ( ) [ ] { } : , . = == def class try: except: f() getattr( open( 'w' __global__ system(
torch torch.cuda lambda del global *a **k @ -> := # \ f'{ … async with
"""
LINES = ["\n", "\\\n", "#define A(x) x##x\n", "#define B A(B)\n", "#if 1\n", "#else\n", "#endif\n", "\u200b"]
PIECES = st.sampled_from([*CUDA_PIECES.split(), *LINES])
PYTHON = st.sampled_from([*PYTHON_PIECES.split(), "\n", "\n\t", "\0", '"' * 3])
NOISE = ["(", "{", "[", "a<", "a<b,", "!)\n", ",:-", "(a)(b)*", "struct->decltypea<b*", "#define A("]
NOISE += ["#define A A A\nA ", "#define F(x) x x\nF(F(F(", "/*", "\\\n", '"', "sys\\\ntem ", "if(x)", "asm("]
NOISE += ["__device__ int a[2];\n", "system(1);", "(int*)(", "while(1){", "[] __device__ (", "(system"]
NOISE += ["namespace a{ int b = f(); ", "__device__ void f(int a){f(a);} ", "int a=new int;[#if 1\n"]


def assert_time_grows_with_length(text_of: Callable[[int], str], contract: str = "kernel") -> None:
    """Four times the text takes about four times the time; sixteen times would be its length squared.

    The longest takes half a second. Ten are for machines that are slow or busy, and so is a second try.
    """
    for _ in range(3):
        short_s = cpu_seconds(text_of(MAX_SOURCE_BYTES // 4), contract)
        long_s = cpu_seconds(text_of(MAX_SOURCE_BYTES), contract)
        assert long_s < 10
        if long_s < 8 * max(short_s, 0.1):
            return
    pytest.fail(f"{short_s:.2f} s for a quarter of the text, {long_s:.2f} s for all of it")


def cpu_seconds(source: str, contract: str) -> float:
    """Of this thread, because others share the cores; the parser's probe has its own limit.

    What earlier tests left in memory is put aside: the collector would look through it again and again.
    """
    for cache in (prepared.prepare, code_index.index_of, syntax._parse):
        cache.cache_clear()
    gc.collect()
    gc.freeze()
    started_s = time.thread_time()
    analyse(source, contract)
    spent_s = time.thread_time() - started_s
    gc.unfreeze()
    return spent_s


def analyse(source: str, contract: str = "kernel") -> None:
    SecurityValidator().validate(source, contract=contract)  # type: ignore[arg-type]
    CUDASafetyAnalyzer().analyze(source, contract=contract)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=60), st.sampled_from(["kernel", "extension"]))
def test_no_sequence_of_pieces_raises(pieces: list[str], contract: str) -> None:
    analyse(" ".join(pieces), contract)
    analyse("".join(pieces), contract)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_no_text_raises(source: str) -> None:
    for contract in ("kernel", "extension", "module"):
        analyse(source, contract)


@settings(max_examples=100, deadline=None)
@given(st.lists(PYTHON, max_size=40))
def test_no_python_raises(pieces: list[str]) -> None:
    analyse(" ".join(pieces), "module")


@settings(max_examples=50, deadline=None)
@given(st.lists(PIECES, max_size=40))
def test_the_view_has_as_many_lines_as_the_source(pieces: list[str]) -> None:
    source = " ".join(pieces)
    assert prepared.prepare(source).view.count("\n") == source.count("\n")


@pytest.mark.parametrize(
    ("opening", "closing"), [("while(1){", "}"), ("namespace a{int b=f();", "}"), ("(", ")")]
)
def test_deep_nesting_that_closes_ends_in_time(opening: str, closing: str) -> None:
    def nested(num_bytes: int) -> str:
        depth = num_bytes // (len(opening) + len(closing)) - 10
        return "void g() {" + opening * depth + "system" + closing * depth + "}"

    assert_time_grows_with_length(nested, "extension")


@pytest.mark.parametrize("piece", NOISE)
def test_noise_as_long_as_a_source_may_be_ends_in_time(piece: str) -> None:
    assert_time_grows_with_length(lambda num_bytes: piece * (num_bytes // len(piece)))


def test_an_ordinary_kernel_ends_in_time() -> None:
    def kernel(num_bytes: int) -> str:
        line = "    float v%d = x[%d] * 2.0f + (i < n ? 1.0f : 2.0f);\n"
        body = "".join(line % (i, i) for i in range(num_bytes // (len(line) + 6) - 10))
        head = "#include <cuda_fp16.h>\n#define TILE 32\n#define AT(i, j) ((i) * TILE + (j))\n"
        opening = 'extern "C" __global__ void k(float* x, int n) {\n    int i = AT(1, 2);\n'
        return head + opening + body + "}\n"

    assert_time_grows_with_length(kernel)


def test_noise_that_cannot_be_parsed_is_refused() -> None:
    report = SecurityValidator().validate("struct->decltypea<b*" * 9_000)
    assert [finding.rule for finding in report.critical] == ["unparsable"]


def test_asking_for_a_line_leaves_the_numbers_alone() -> None:
    # The parser's own `.row` frees the number each time it is read, which ends the process in the end.
    node = syntax.parse("int a;")
    before = sys.getrefcount(0)
    for _ in range(500):
        syntax.line_of(node)
    assert abs(sys.getrefcount(0) - before) < 100


def test_surrogates_are_refused_and_do_not_raise() -> None:
    assert not SecurityValidator().validate("int a\ud800;").is_safe
