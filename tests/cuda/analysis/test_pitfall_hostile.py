"""The detector on anything at all: it never raises, always ends, and is quick on honest sources."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.cuda.analysis import syntax
from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.data.tasks import all_tasks, variants

TOKENS = [
    "__global__", "__shared__", "float", "int", "s", "i", "n", "x", "k", "threadIdx.x", "blockIdx.y",
    "blockDim.x", "[", "]", "(", ")", "{", "}", ";", ",", "=", "+=", "<<", ">>", "/", "%", "*", "&",
    "-", "+", "<", "==", "&&", "?", ":", "if", "else", "for", "while", "do", "switch", "case", "return",
    "break", "continue", "goto", "0", "1", "99999999999999999999", "0.5", "1e-5", "__syncthreads()",
    "atomicAdd", "template", "#define A B\n", "reinterpret_cast<float4*>", "->", ".", "\n", '"', "//",
    "/*", "*/", "\\", "🙂", "asm", "void", "const", "0x",
]  # fmt: skip
SOURCES = [task.baseline for task in all_tasks()] + [
    variant.source for task in all_tasks() for variant in variants(task.name)
]


@settings(max_examples=150)
@given(st.text(max_size=300))
def test_any_text_gives_findings_or_none(text: str) -> None:
    CUDAPitfallDetector().detect(text)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(TOKENS), max_size=120))
def test_any_sequence_of_tokens_in_a_kernel_is_survived(tokens: list[str]) -> None:
    words = " ".join(tokens)
    findings = CUDAPitfallDetector().detect(f"__global__ void k(float* x, int n) {{ {words} }}")
    assert all(finding.category == "pitfall" and finding.severity != "critical" for finding in findings)


@settings(max_examples=100)
@given(st.sampled_from(SOURCES), st.data())
def test_catalogue_kernels_with_pieces_cut_out_or_doubled_are_survived(
    source: str, data: st.DataObject
) -> None:
    lines = source.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(st.sampled_from(["", lines[at] * 2, lines[at][:9], "}", "for (;;) {"]))
    CUDAPitfallDetector().detect("\n".join(lines))


HEAD = "__global__ void k(float* x, int n) {\n"


@pytest.mark.parametrize(
    "source",
    [
        HEAD + "x[0] = " + "(" * 5000 + "1" + ")" * 5000 + "; }",
        HEAD + "x[0] = " + "+ ".join(["n"] * 5000) + "; }",
        HEAD + "{" * 3000 + "}" * 3000 + "}",
        HEAD + "if (n) " * 3000 + "x[0] = 1; }",
        HEAD + "for (int i = 0; i < n; ++i) " * 40 + "x[i] = 1; }",
        HEAD + "int a = 3;" + "a = a * a;" * 400 + "x[a << a] = a / 0 + a % 0; }",
        HEAD + "int t = threadIdx.x;" + "t = t * t;" * 400 + "x[t] = t / (t - t); }",
        "#define A A\n#define B C\n#define C B\n" + HEAD + "x[A + B] = 1; }",
        "__device__ int f(int a) { return f(a) + f(a); }\n" + HEAD + "x[f(n)] = 1; }",
        "".join(f"__device__ int f{i}(int a) {{ return f{i + 1}(a) + f{i + 1}(a); }}\n" for i in range(30))
        + HEAD
        + "x[f0(n)] = 1; }",
        HEAD + "__shared__ float s[99999999][99999999]; s[threadIdx.x - 5][n] = s[n][-7]; }",
        HEAD + "__shared__ float s[1 << 40]; s[(1 << 30) * threadIdx.x] = 1; s[0] = s[3]; }",
        "// launch: k grid=(n / 0) block=(n % 0)\n" + HEAD + "x[0] = 1; }",
        "// launch: k grid=( block=((\n" + HEAD + "x[0] = 1; }",
        "// launch: k grid=(0) block=(2048)\n" + HEAD + "x[threadIdx.x] = 1; }",
        HEAD * 50,
        "\x00\udcff" + HEAD + "\x00 }",
        "",
    ],
)
def test_hostile_sources_end_quickly(source: str) -> None:
    started = time.process_time()
    CUDAPitfallDetector().detect(source)
    assert time.process_time() - started < 15


def test_a_very_long_source_ends() -> None:
    source = "\n".join(
        f"__global__ void k{i}(float* x, int n) {{ if (threadIdx.x < n) x[threadIdx.x * n] = {i}; }}"
        for i in range(1500)
    )
    started = time.process_time()
    assert CUDAPitfallDetector().detect(source)
    assert time.process_time() - started < 15


def test_a_source_of_two_hundred_lines_is_read_in_a_moment() -> None:
    """Many kernels in one file, all with loops and barriers: 10 ms, five times as much under coverage."""
    source, names = "", iter(range(100))
    for text in sorted(SOURCES, key=len, reverse=True):
        if source.count("\n") < 200 and "__shared__" in text:
            prefix = f"k{next(names)}_"
            source += text.replace("__global__ void ", f"__global__ void {prefix}").replace(
                "// launch: ", f"// launch: {prefix}"
            )
    assert source.count("\n") >= 180
    syntax._parse.cache_clear()
    started = time.process_time()
    CUDAPitfallDetector().detect(source)
    assert time.process_time() - started < 1


def test_the_same_source_gives_the_same_findings() -> None:
    detector = CUDAPitfallDetector()
    for source in SOURCES:
        assert detector.detect(source) == detector.detect(source)
