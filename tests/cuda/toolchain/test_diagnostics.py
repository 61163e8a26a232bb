"""Compiler logs as records."""

from __future__ import annotations

from coding_framework.cuda.toolchain.diagnostics import MAX_DIAGNOSTICS, parse_diagnostics

SOURCE = 'extern "C" __global__ void k(float* x) {\n\tx[0] = y;\n  max(x, 3); /* ☃ */ zz = 1;\n}\n'


def test_an_error_has_its_place_and_its_line() -> None:
    log = 'kernel.cu(2): error: identifier "y" is undefined\n  \tx[0] = y;\n  \t       ^\n\n'
    log += '1 error detected in the compilation of "kernel.cu".\n'
    (found,) = parse_diagnostics(log, SOURCE)
    assert (found.severity, found.line, found.column) == ("error", 2, 9)
    assert found.message == 'identifier "y" is undefined'
    assert found.source_line == "\tx[0] = y;"


def test_the_caret_counts_bytes_and_the_column_characters() -> None:
    line = SOURCE.split("\n")[2]
    caret = " " * (2 + len(line[: line.index("zz")].encode())) + "^"
    (found,) = parse_diagnostics(
        f'kernel.cu(3): error: identifier "zz" is undefined\n  {line}\n{caret}\n', SOURCE
    )
    assert found.column == line.index("zz") + 1


def test_candidates_of_an_overload_belong_to_the_message() -> None:
    log = (
        "kernel.cu(3): error: no instance of overloaded function matches the argument list\n"
        "            argument types are: (float *, int)\n    max(x, 3); /* ☃ */ zz = 1;\n    ^\n"
    )
    (found,) = parse_diagnostics(log, SOURCE)
    assert found.message.endswith("matches the argument list argument types are: (float *, int)")
    assert found.column == 3


def test_a_line_that_is_not_the_candidates_gives_no_column() -> None:
    log = "kernel.cu(2): error: bad\n  __attribute__((x)) x[0] = y;\n        ^\n"
    (found,) = parse_diagnostics(log, SOURCE)
    assert found.line == 2
    assert found.column is None


def test_warnings_keep_their_kind() -> None:
    log = (
        'kernel.cu(2): warning #177-D: variable "q" was declared but never referenced\n\nRemark: suppressed\n'
    )
    (found,) = parse_diagnostics(log, SOURCE)
    assert found.severity == "warning"
    assert found.message == 'variable "q" was declared but never referenced'


def test_a_missing_header_is_an_error() -> None:
    (found,) = parse_diagnostics(
        'kernel.cu(1): catastrophic error: cannot open source file "foo.h"\n', SOURCE
    )
    assert found.severity == "error"


def test_an_error_at_the_end_is_placed_on_the_last_line() -> None:
    log = 'At end of source: error: expected a "}"\nkernel.cu(1): note #3196-D: to match this "{"\n'
    first, second = parse_diagnostics(log, SOURCE)
    assert (first.severity, first.line) == ("error", 4)
    assert first.message == 'at the end: expected a "}"'
    assert second.severity == "note"


def test_words_of_another_file_are_never_quoted() -> None:
    log = "/etc/secret(1): error: expected a declaration\n  root:x:0:0\n  ^\n\n/usr/a.h(2): warning #1-D: w\n"
    (found,) = parse_diagnostics(log, SOURCE)
    assert found.message == "in secret: expected a declaration"
    assert found.line is None
    assert found.source_line is None


def test_an_error_in_a_header_points_to_the_instantiation() -> None:
    log = '/usr/a.h(9): error: bad\n  quoted\n  ^\n          detected during instantiation of "f" at line 2\n'
    (found,) = parse_diagnostics(log, SOURCE)
    assert found.line == 2


def test_a_line_directive_cannot_point_outside_the_source() -> None:
    (found,) = parse_diagnostics("kernel.cu(900): error: bad\n", SOURCE)
    assert found.line is None


def test_the_assemblers_errors_are_kept() -> None:
    log = (
        "ptxas info    : 0 bytes gmem\n"
        " ptxas error   : Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)\n"
        "ptxas application ptx input, line 147; error   : Unknown modifier '.bar'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
        "ptxas warning : Stack size cannot be determined\n"
    )
    found = parse_diagnostics(log, SOURCE)
    assert [item.severity for item in found] == ["error", "error", "error", "warning"]
    assert found[1].message == "ptxas: Unknown modifier '.bar'"


def test_the_host_compilers_errors_are_understood() -> None:
    log = (
        "kernel.cu:1:10: fatal error: foo.h: No such file or directory\n    1 | #include <foo.h>\n"
        "/usr/include/x.h:3: error: bad\n/usr/include/x.h:3:1: warning: w\n"
    )
    first, second = parse_diagnostics(log, SOURCE)
    assert (first.line, first.column, first.message) == (1, 10, "foo.h: No such file or directory")
    assert second.message == "in x.h: bad"


def test_a_flood_is_cut_and_errors_come_first() -> None:
    log = "".join(f"kernel.cu(1): warning #1-D: w{n}\n" for n in range(60)) + "kernel.cu(1): error: bad\n"
    found = parse_diagnostics(log, SOURCE)
    assert len(found) == MAX_DIAGNOSTICS
    assert found[0].severity == "error"


def test_a_long_message_is_cut() -> None:
    (found,) = parse_diagnostics("kernel.cu(1): error: " + "x" * 5000, SOURCE)
    assert len(found.message) < 1300
