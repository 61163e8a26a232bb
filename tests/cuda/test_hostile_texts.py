"""Texts made to slow or break whatever reads a candidate: every reader ends soon, with short words.

Each family is one piece repeated up to the length of the longest source. A reader that looks at a text
twice from every place takes minutes on some of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coding_framework.cuda.analysis.pitfalls import CUDAPitfallDetector
from coding_framework.cuda.analysis.safety import CUDASafetyAnalyzer
from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.cuda.analysis.signature import kernel_signatures
from coding_framework.cuda.contract import ContractViolation, kernel_names, parse_launch_plan
from coding_framework.cuda.toolchain.diagnostics import parse_diagnostics
from coding_framework.cuda.toolchain.source_scan import definition_order, find_source_faults
from coding_framework.data.tasks import get_task
from coding_framework.errors import ExpressionError
from coding_framework.records import MAX_SOURCE_BYTES
from coding_framework.records.expression import parse_expression

TASK = get_task("vector_add")
KERNEL = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {}\n'
MAX_CPU_S = 10.0
"""Linear readers take 0.3 s, four times as much under coverage; quadratic ones 15 s and more."""
MAX_TREE_CPU_S = 10.0
"""Readers of the syntax tree: the parser alone may take a quarter of a second, twice."""
LONG_MESSAGE = 12_000


def read_plan(text: str) -> None:
    try:
        parse_launch_plan(text, TASK)
    except ContractViolation as violation:
        require_short_words(violation)


def read_expression(text: str) -> None:
    try:
        parse_expression(text).evaluate({"n": 3})
    except ExpressionError as error:
        require_short_words(error)


def require_short_words(error: Exception) -> None:
    assert len(str(error).encode()) < LONG_MESSAGE


SCANNERS: dict[str, Callable[[str], object]] = {
    "launch plan": read_plan,
    "kernel names": kernel_names,
    "source faults": find_source_faults,
    "definition order": lambda text: definition_order(text, tuple(f"k{i}" for i in range(2000))),
    "compiler log": lambda text: parse_diagnostics(text, text),
    "expression": read_expression,
}
TREE_READERS: dict[str, Callable[[str], object]] = {
    "security": SecurityValidator().validate,
    "safety": CUDASafetyAnalyzer().analyze,
    "pitfalls": CUDAPitfallDetector().detect,
    "signatures": kernel_signatures,
}
PIECES = (
    *(
        "/* ",
        "*/",
        "*/#",
        "*/ #include <a>/*",
        "//",
        'R"(',
        'R"(/*)" ',
        'u8R"',
        '"',
        '"\\"',
        '\\"',
        "'",
        "L'",
    ),
    *(
        "1'0",
        "(",
        ")",
        "{",
        "[",
        "<",
        " ",
        "\t",
        "\n",
        "\r",
        "\\\n",
        "\\ \n",
        "??/\n",
        "\0",
        "\ud800",
        "\u202e",
    ),
    *(
        "#",
        "%:",
        "#include ",
        "#include <a>\n",
        "__has_include(<a>)",
        "#line 1\n",
        "#define A A\n",
        "#define C 1\n",
        "#define C (C\n",
        "const int C=C+1;",
        "#undef C\n",
        "#if 1\n",
    ),
    *(
        "// launch: ",
        "* launch: ",
        "// launch: grid=(1) block=(1)\n",
        "// scratch: s float[n]\n",
        "grid =",
        "a // a ",
        "1//1",
        "sizeof(",
        "min(",
        "-",
        "1+",
    ),
    *(
        "9",
        "n ",
        "__global__ ",
        "__global__ void k(",
        "__global__ __launch_bounds__(",
        "void ",
        "void __launch_bounds__(",
        "void __maxnreg__()",
        "A(",
        "a<",
        "a=b;",
        "if(1)",
    ),
    *("kernel.cu(1): error: a\n", "kernel.cu(1): warning: a\n", "a(1", "ptxas a, line 1; ", "a:1:", "\n ^\n"),
)


def repeated(piece: str) -> str:
    return piece * min(40_000, MAX_SOURCE_BYTES // len(piece.encode(errors="replace")))


def cpu_seconds(reader: Callable[[str], object], text: str) -> float:
    before = time.process_time()
    reader(text)
    return time.process_time() - before


@pytest.mark.parametrize("name", SCANNERS)
@pytest.mark.parametrize(
    "around",
    [
        ("", ""),
        (KERNEL, ""),
        ("// launch: ", "\n" + KERNEL),
        ("#", "\n" + KERNEL),
        ("// launch: grid=(C) block=(1)\n", KERNEL),
    ],
)
def test_a_piece_repeated_without_end_is_read_in_linear_time(name: str, around: tuple[str, str]) -> None:
    slow = {}
    for piece in PIECES:
        seconds = cpu_seconds(SCANNERS[name], around[0] + repeated(piece) + around[1])
        if seconds > MAX_CPU_S:
            slow[piece] = seconds
    assert slow == {}


@pytest.mark.parametrize("name", TREE_READERS)
@pytest.mark.parametrize(
    "piece", ["/* ", 'R"(', '"\\"', "\\ \n", "\n", "(", "*/#", "__global__ void k(", "a<", "\ud800"]
)
def test_what_reads_the_syntax_tree_ends_on_repeated_pieces_too(name: str, piece: str) -> None:
    assert cpu_seconds(TREE_READERS[name], repeated(piece)) < MAX_TREE_CPU_S


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *KERNEL.split(" ")]), max_size=30).map("".join))
def test_no_mixture_of_pieces_raises(text: str) -> None:
    for reader in SCANNERS.values():
        reader(text)
    for reader in TREE_READERS.values():
        reader(text)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_no_text_raises(text: str) -> None:
    for reader in SCANNERS.values():
        reader(text)
        reader(f"// launch: {text}\n{KERNEL}")


def test_a_log_of_many_megabytes_becomes_few_records_soon() -> None:
    line = "/* " * 2000
    log = "".join(
        f"kernel.cu(1): warning #9-D: nested comment {i} is not allowed\n  {line}\n{' ' * (2 + 3 * i)}^\n\n"
        for i in range(2000)
    )
    log += 'kernel.cu(1): error: expected a "}"\n\n1 error detected in the compilation of "kernel.cu".\n'
    assert len(log) > 10_000_000
    before = time.process_time()
    found = parse_diagnostics(log, line)
    assert time.process_time() - before < 10
    assert len(found) <= 200
    assert any(item.severity == "error" for item in found)
    assert sum(len(item.model_dump_json()) for item in found) < 500_000


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000 + "1" + ")" * 10_000, "10**100000", "9" * 100_000, "1+" * 10_000 + "1", "-" * 10_000 + "1"],
)
def test_an_enormous_expression_is_refused_at_once(text: str) -> None:
    before = time.process_time()
    with pytest.raises(ExpressionError):
        parse_expression(text)
    assert time.process_time() - before < 1


def test_a_chain_as_long_as_allowed_is_evaluated_without_recursion() -> None:
    expression = parse_expression("1" + "+1" * 190)

    def at_depth(depth: int) -> int:
        return at_depth(depth - 1) if depth else expression.evaluate({})

    assert at_depth(700) == 191


def test_only_plain_digits_and_letters_are_read() -> None:
    for text in ("\u0661\u0662", "n\u0301", "\uff4e", "n\u00a0", "\u0456", "n\0"):
        with pytest.raises(ExpressionError, match="unexpected character"):
            parse_expression(text)


def test_code_behind_a_comment_that_only_one_compiler_continues_is_seen() -> None:
    source = '__global__ void k() {\n// note \\ \nasm("exit;");\n}'
    rules = {finding.rule for finding in SecurityValidator().validate(source).critical}
    assert "blank-continuation" in rules
    joined = SecurityValidator().validate(source.replace("\\ \n", "\\\n"))
    assert "blank-continuation" not in {finding.rule for finding in joined.findings}
