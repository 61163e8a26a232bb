"""Same code, other words: one key. Other code: another key, whatever its text looks like."""

from __future__ import annotations

import pytest

from coding_framework.cuda.toolchain.locate import include_dirs
from coding_framework.cuda.toolchain.messages import CompileRequest
from coding_framework.cuda.toolchain.nvrtc import compile_request
from coding_framework.cuda.toolchain.ptx_identity import code_digest, normalised_ptx, ptx_key

SOURCE = """\
__constant__ float weights[4];
__device__ float halved(float v) {
  __shared__ float slot[32];
  slot[threadIdx.x % 32] = v;
  return slot[3] / 2;
}
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float tile[64];
  extern __shared__ float scratch[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[i % 64] = x[i];
  __syncthreads();
  if (i < n) y[i] = halved(tile[63 - i % 64]) + weights[n % 4] + scratch[i % 8];
}
"""


def ptx_of(source: str) -> str:
    raw = compile_request(
        CompileRequest(source, "sm_90", (), tuple(str(folder) for folder in include_dirs()))
    )
    assert raw.outcome == "built", raw.log
    return raw.ptx


@pytest.fixture(scope="module")
def original() -> str:
    return ptx_of(SOURCE)


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("  __shared__ float tile", "  // a comment\n\n  /* and\n another */ __shared__ float tile"),
        ("int i = ", "int   i\n =  "),
        ("tile", "a_much_longer_name"),
        ("scratch", "buffer"),
        ("weights", "w"),
        ("halved", "cut_in_two"),
    ],
)
def test_comments_layout_and_names_make_no_difference(original: str, words: str, others: str) -> None:
    changed = SOURCE.replace(words, others)
    assert code_digest(ptx_of(changed)) == code_digest(original)


def test_the_names_of_parameters_and_locals_make_no_difference(original: str) -> None:
    changed = SOURCE.replace("x, float* y", "input, float* out").replace("x[i]", "input[i]")
    changed = changed.replace("y[i] =", "out[i] =").replace("int i =", "int at =").replace("[i]", "[at]")
    changed = changed.replace("i % ", "at % ").replace("i < n", "at < n")
    assert changed != SOURCE
    assert code_digest(ptx_of(changed)) == code_digest(original)


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("63 - i", "62 - i"),
        ("/ 2", "/ 3"),
        ("i < n", "i <= n"),
        ("tile[64]", "tile[65]"),
        ("void k(", "void q("),
    ],
)
def test_another_code_has_another_key(original: str, words: str, others: str) -> None:
    assert code_digest(ptx_of(SOURCE.replace(words, others))) != code_digest(original)


def test_what_else_decides_the_binary_is_part_of_the_key() -> None:
    keys = {ptx_key("digest", *context) for context in ((), ("sm_90",), ("sm_80",), ("sm_90", "--x"))}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('.pragma "//"; mov.u32 %r1, 1;', '.pragma "//"; mov.u32 %r1, 2;'),
        (".loc 1 2 3 mov.u32 %r1, 1;", ".loc 1 2 3 mov.u32 %r1, 2;"),
        ('.file 1 "a.cu" mov.u32 %r1, 1;', '.file 1 "a.cu" mov.u32 %r1, 2;'),
        (".shared .b32 exit; { exit; }", ".shared .b32 ret; { ret; }"),
        (".shared .b32 aa; ld.shared.b32 %r1, [aa];", ".shared .b32 aa; ld.shared.b32 %r1, [bb];"),
    ],
)
def test_no_spelling_hides_an_instruction(first: str, second: str) -> None:
    assert normalised_ptx(first) != normalised_ptx(second)


def test_the_same_name_twice_is_not_two_names() -> None:
    once = ".shared .b32 aa; .shared .b32 bb; st.shared.b32 [aa], 1; st.shared.b32 [bb], 2;"
    swapped = ".shared .b32 aa; .shared .b32 bb; st.shared.b32 [bb], 1; st.shared.b32 [aa], 2;"
    renamed = ".shared .b32 cc; .shared .b32 dd; st.shared.b32 [cc], 1; st.shared.b32 [dd], 2;"
    assert normalised_ptx(once) == normalised_ptx(renamed)
    assert normalised_ptx(once) != normalised_ptx(swapped)
