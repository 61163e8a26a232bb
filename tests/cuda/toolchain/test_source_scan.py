"""What is found in a source before a compiler sees it."""

from __future__ import annotations

import pytest

from coding_framework.cuda.toolchain.source_scan import (
    definition_order,
    find_source_faults,
    kernel_line,
    line_of,
    without_comments,
)

KERNEL = '\nextern "C" __global__ void k(float* x) { x[0] = 1; }\n'


@pytest.mark.parametrize(
    "directive",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '  #  include   "../secret.h"',
        '#include "a/../../b.h"',
        '#include "~/x.h"',
        '%:include "/etc/passwd"',
        '??=include "/etc/passwd"',
        '#/* hidden */include/* here */"/etc/passwd"',
        '#inc\\\nlude "/etc/passwd"',
        '#include_next "/etc/passwd"',
        '#import "/etc/passwd"',
        '#define P "/etc/passwd"\n#include P',
        "#include __FILE__",
        '#include "C:\\\\x.h"',
        'const char* s = "/*";\n#include "/etc/passwd"\nconst char* t = "*/";',
        "int i = 1'000; char c = '\"';\n#include \"/etc/passwd\"",
        "int i = 1'0'/*'\n#include \"/etc/passwd\"\n/* */",
        'const char* s = R"x(/*)x";\n#include "/etc/passwd"\n',
    ],
)
def test_an_include_that_could_read_the_hosts_files_is_refused(directive: str) -> None:
    faults = find_source_faults(directive + KERNEL)
    assert len(faults) == 1
    assert faults[0].severity == "error"
    assert "#include" in faults[0].message
    assert faults[0].line is not None
    assert faults[0].source_line == directive.split("\n")[faults[0].line - 1]


@pytest.mark.parametrize(
    "directive",
    [
        "#include <cuda_fp16.h>",
        '#include "device_launch_parameters.h"',
        "#include <cooperative_groups/reduce.h>",
        "#include <cub/cub.cuh> // comment",
        '// #include "/etc/passwd"',
        '/* #include "/etc/passwd" */',
        'const char* s = "#include \\"/etc/passwd\\"";',
        "#define include_this 1",
    ],
)
def test_ordinary_includes_and_mere_words_pass(directive: str) -> None:
    assert find_source_faults(directive + KERNEL) == ()


@pytest.mark.parametrize("source", ["", "__device__ int f() { return 1; }", "// __global__ void k() {}"])
def test_a_source_without_a_kernel_says_so(source: str) -> None:
    (fault,) = find_source_faults(source)
    assert "no __global__ function" in fault.message


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_characters_that_no_compiler_can_read_are_refused(character: str) -> None:
    (fault,) = find_source_faults(character + KERNEL)
    assert "no text" in fault.message


def test_comments_are_blanked_and_lines_kept() -> None:
    text = without_comments('a /* x\ny */ b // c\n"// kept"')
    assert text.split("\n") == ["a     ", "     b     ", '"// kept"']


def test_kernels_are_ordered_as_defined_and_not_as_planned() -> None:
    source = "// launch: second\n__global__ void first() {}\n__global__ void second() {}"
    assert definition_order(source, ("second", "first")) == ("first", "second")
    assert kernel_line(source, "second") == 3
    assert kernel_line(source, "third") is None


def test_lines_past_the_end_have_no_text() -> None:
    assert line_of("a\r\nb", 1) == "a"
    assert line_of("a", 2) is None
