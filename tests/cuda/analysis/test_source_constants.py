"""Which integers of a source a launch plan may name, and which it may not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.cuda.analysis.integer_tokens import integer_value
from coding_framework.cuda.analysis.source_constants import SourceConstants, source_constants
from coding_framework.cuda.analysis.tokens import tokenize
from coding_framework.records.candidate import MAX_SOURCE_BYTES

KERNEL = '\nextern "C" __global__ void k(float* x, int n) { const int LOCAL = 3; x[0] = LOCAL; }\n'


def found(*lines: str) -> SourceConstants:
    return source_constants("\n".join(lines) + KERNEL)


def value(text: str, **known: int) -> int | None:
    return integer_value(tokenize(text)[0], known)


@pytest.mark.parametrize(
    "line",
    [
        "#define BLOCK 256",
        "#define BLOCK (256)  // threads",
        "#  define BLOCK \\\n  0x100",
        "constexpr int BLOCK = 256;",
        "const int BLOCK = 256;",
        "static constexpr unsigned BLOCK = 256u;",
        "static const unsigned int BLOCK = 256;",
        "inline constexpr size_t BLOCK = 16 * 16;",
        "constexpr std::uint32_t BLOCK{256};",
        "constexpr auto BLOCK = 1 << 8;",
        "int const BLOCK = 256;",
        "const int WARP = 32, BLOCK = 8 * WARP;",
        "#define WARP 32\n#define BLOCK (WARP * 8)",
        "#define BLOCK (WARP * 8)\n#define WARP 32",
        "#define WARP 32\nconstexpr int BLOCK = WARP * 8;",
        "constexpr int WARP = 32;\n#define BLOCK (WARP * 8)",
        "constexpr int BLOCK = 64 * sizeof(float);",
        "namespace { constexpr int BLOCK = 256; }",
        'extern "C" { const int BLOCK = 256; }',
        "#define BLOCK 256\n#define BLOCK 256",
        "#ifdef DEBUG\n#define LOG 1\n#endif\n#define BLOCK 256",
        "#define TEMPORARY 4\nconstexpr int BLOCK = TEMPORARY * 64;\n#undef TEMPORARY",
        "#define SQUARE(x) ((x) * (x))\n#define BLOCK 256",
    ],
)
def test_a_constant_of_the_file_has_its_value(line: str) -> None:
    assert found(line).values["BLOCK"] == 256


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("#define BLOCK 256\n#define BLOCK 128", "different values"),
        ("constexpr int BLOCK = 256;\nnamespace { constexpr int BLOCK = 128; }", "different values"),
        ("#define BLOCK 256\n#undef BLOCK", "#undef"),
        ("#define BLOCK 256\n#undef BLOCK\n#define BLOCK 256", "#undef"),
        ("#ifdef FAST\n#define BLOCK 256\n#endif", "condition"),
        ("#ifndef BLOCK\n#define BLOCK 256\n#endif", "condition"),
        ("#define BLOCK 256\n#if FAST\n#undef BLOCK\n#endif", "condition"),
        ("#if FAST\nconstexpr int BLOCK = 256;\n#else\nconstexpr int BLOCK = 128;\n#endif", "condition"),
        ("#if FAST\n#else\nconst int BLOCK = 256;\n#endif", "condition"),
        ("#if A\n#if B\n#endif\nconst int BLOCK = 256;\n#endif", "condition"),
        (
            "const int BLOCK = 256;\n#if FAST\n#define BLOCK 128\n#endif",
            "both a macro and a variable|condition",
        ),
        ("const int BLOCK = 256;\n#define BLOCK 128", "both a macro and a variable"),
        ("#define BLOCK() 256", "parameters"),
        ("#define BLOCK(x) x", "parameters"),
        ("#define BLOCK 256.0", "no plain integer"),
        ("#define BLOCK", "no plain integer"),
        ("#define BLOCK BLOCK", "no plain integer"),
        ("#define BLOCK A\n#define A BLOCK", "no plain integer"),
        ("#define BLOCK __LINE__", "no plain integer"),
        ("#define BLOCK -1", "no plain integer"),
        ("#define BLOCK 2147483648", "no plain integer"),
        ("#define A 1\n#define A 2\n#define BLOCK A", "no plain integer"),
        ("#if FAST\n#define A 1\n#else\n#define A 2\n#endif\nconst int BLOCK = A;", "no plain integer"),
        ("#if FAST\nconst int A = 1;\n#endif\nconst int BLOCK = A;", "no plain integer"),
        ("const int A = 1;\n#if FAST\n#define A 2\n#endif\nconst int BLOCK = A;", "no plain integer"),
        ("#if FAST\n#define A 1\n#endif\n#define BLOCK A", "no plain integer"),
        ("constexpr float BLOCK = 256;", "no plain integer"),
        ("constexpr unsigned char BLOCK = 256;", "no plain integer"),
        ("constexpr bool BLOCK = 256;", "no plain integer"),
        ("constexpr int BLOCK = FAST ? 256 : 128;", "no plain integer"),
        ("constexpr int size() { return 256; }\nconstexpr int BLOCK = size();", "no plain integer"),
        ("constexpr int BLOCK = 64u - 65u;", "no plain integer"),
        ("constexpr int BLOCK = 65536 * 65536 / 65536;", "no plain integer"),
        ("const volatile int BLOCK = 256;", "no plain integer"),
    ],
)
def test_a_constant_in_doubt_has_none_and_says_why(lines: str, reason: str) -> None:
    constants = found(lines)
    assert "BLOCK" not in constants.values
    assert any(words in constants.refused["BLOCK"] for words in reason.split("|"))


@pytest.mark.parametrize(
    "lines",
    [
        "int BLOCK = 256;",
        "__constant__ int BLOCK = 256;",
        "const int BLOCK[1] = {256};",
        "const int* BLOCK = 0;",
        "namespace sizes { constexpr int BLOCK = 256; }",
        "struct Sizes { static constexpr int BLOCK = 256; };",
        "template <int BLOCK> __device__ int f() { return BLOCK; }",
        "__device__ int f() { constexpr int BLOCK = 256; return BLOCK; }",
        "// #define BLOCK 256",
        "/*\n#define BLOCK 256\nconst int BLOCK = 256;\n*/",
        'const char* s = "const int BLOCK = 256;";',
        'const char* s = R"(\n#define BLOCK 256\n)";',
        "extern const int BLOCK;",
        "#define \u0411LOCK 256",
    ],
)
def test_what_is_no_constant_of_the_file_is_not_found(lines: str) -> None:
    assert found(lines) == SourceConstants()


def test_an_expression_is_read_as_the_compiler_reads_it() -> None:
    assert value("2 + 3 * 4 - 20 / 3 % 4") == 12
    assert value("1 + 1 << 2 * 2") == 32
    assert value("100 - 10 - 1") == 89
    assert value("(A + 1) * B", A=2, B=3) == 9
    assert value("017") == 15
    assert value("1'024ull") == 1024
    assert value("sizeof(unsigned long long)") == 8


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "(1", "1)", "1 2", "1 / 0", "1 % 0", "1 << 31", "1 << 40", "~0", "!0", "+1", "1 == 1", "08",
     "1.", "A", "A(1)", "min(1, 2)", "sizeof(1)", "sizeof 1", "sizeof(", "(int)1", "1, 2", "'a'", '"1"',
     "1 // 2", "(" * 40 + "1" + ")" * 40, "1" + "+1" * 200, "9" * 50],
)  # fmt: skip
def test_what_is_not_certain_has_no_value(text: str) -> None:
    expected = 1 if text == "1 // 2" else None  # a comment
    assert value(text) == expected


@given(st.text(st.sampled_from("0129 +-*/%<>()A#,;{}=\n"), max_size=40))
def test_no_text_raises(text: str) -> None:
    assert value(text, A=3) is None or 0 <= (value(text, A=3) or 0) < 2**31
    source_constants(f"#define A {text}\nconst int B = {text};")


@pytest.mark.parametrize(
    "piece",
    [
        "#define A{i} A{j}\n",
        "#define A{i} (A{j} + A{j})\n",
        "const int A{i} = A{j} + 1;\n",
        "#if {i}\nconst int A{i} = 1;\n#endif\n",
        "#undef A{i}\n#define A{j} 1\n",
        "#define A{i} " + "(" * 100 + "\n",
    ],
)
def test_many_constants_are_read_soon(piece: str) -> None:
    """As many as a candidate's source has room for: half a second at the most, a few under coverage."""
    count = min(6000, MAX_SOURCE_BYTES // len(piece))
    text = "".join(piece.replace("{i}", str(i)).replace("{j}", str(i + 1)) for i in range(count))
    before = time.process_time()
    assert len(source_constants(text).values) < 10_000
    assert time.process_time() - before < 5


def test_an_ordinary_source_is_read_in_milliseconds() -> None:
    body = "".join(f"    x[threadIdx.x + {i}] = 2.0f * x[threadIdx.x] + BLOCK;\n" for i in range(60))
    texts = [
        f"#define BLOCK {i}\nconstexpr int TILE = BLOCK * 4;\n__global__ void k(float* x) {{\n{body}}}\n"
        for i in range(1, 20)
    ]
    before = time.process_time()
    for number, text in enumerate(texts, start=1):
        assert source_constants(text).values == {"BLOCK": number, "TILE": 4 * number}
    assert (time.process_time() - before) / len(texts) < 0.05
