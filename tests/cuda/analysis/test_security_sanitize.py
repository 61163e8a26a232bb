"""Cleaning keeps lines, keeps kernels, and says what it did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.cuda.analysis.security import SecurityValidator
from coding_framework.data.tasks import all_tasks

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }\n'


def clean(source: str) -> tuple[str, list[tuple[int, str]]]:
    result = SecurityValidator().sanitize(source)
    return result.source, [(change.line, change.words) for change in result.changes]


@pytest.mark.parametrize(
    ("source", "expected", "line", "words"),
    [
        ("int a;\n#include <iostream>\nint b;\n", "int a;\n\nint b;\n", 2, "removed #include <iostream>"),
        ("#include <fstream> // x\n", "\n", 1, "removed #include <fstream> // x"),
        ("#include <sys/mman.h>\n", "\n", 1, "removed #include <sys/mman.h>"),
        ('#pragma comment(lib, "x")\n', "\n", 1, 'removed #pragma comment(lib, "x")'),
        ('\n#line 7 "x"\n', "\n\n", 2, 'removed #line 7 "x"'),
        ("int a\u200b;\n", "int a;\n", 1, "removed an invisible character"),
        ("int a; // \u202e\n", "int a; // \n", 1, "removed an invisible character"),
        ("int cou\\\nnt;\nint b;\n", "int count;\n\nint b;\n", 1, "joined a word split over two lines"),
        ("int a??(3];\n", "int a[3];\n", 1, "replaced the trigraph ??("),
        (
            "int a;\nint main() {\n  return 0;\n}\nint b;\n",
            "int a;\n\n\n\nint b;\n",
            2,
            "removed the function main",
        ),
    ],
)
def test_what_is_needless_goes_and_the_lines_stay(source: str, expected: str, line: int, words: str) -> None:
    assert clean(source) == (expected, [(line, words)])


def test_three_pieces_of_one_word_become_one() -> None:
    assert clean("in\\\nt\\\nx;\nint b;\n")[0] == "intx;\n\n\nint b;\n"


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_a_clean_kernel_comes_back_as_it_was(task: object) -> None:
    source = task.baseline  # type: ignore[attr-defined]
    assert clean(source) == (source, [])


def test_macros_over_several_lines_and_useful_includes_stay() -> None:
    source = "#include <cuda_fp16.h>\n#include <cmath>\n#define F(x) \\\n  ((x) + 1)\n" + KERNEL
    assert clean(source) == (source, [])


def test_a_kernel_beside_main_stays() -> None:
    source, changes = clean("#include <iostream>\n" + KERNEL + "int main() { k<<<1, 1>>>(0); }\n")
    assert source == "\n" + KERNEL + "\n"
    assert [line for line, _words in changes] == [1, 3]


@given(st.text(alphabet=st.sampled_from('int main(){};\\\n#<>"?=/\u200b abc'), max_size=80))
def test_cleaning_keeps_the_number_of_lines_and_is_stable(source: str) -> None:
    once, changes = clean(source)
    assert once.count("\n") == source.count("\n")
    assert (once == source) == (not changes)
