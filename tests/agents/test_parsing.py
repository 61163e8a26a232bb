"""From answers to candidates."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_framework.agents.parsing import ParsedAnswer, parse_answer
from coding_framework.records import Contract, Generation

KERNEL = '// launch: grid=(1) block=(1)\nextern "C" __global__ void k() {}'
BARE_KERNEL = (
    'extern "C" __global__ void k(float* y, int n) {\n    if (threadIdx.x < n) y[threadIdx.x] = 1.0f;\n}'
)
PLAN = "// launch: k grid=(ceil_div(n, 32)) block=(32)"
MODULE = """import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x"""
EXTENSION = """#include <torch/extension.h>
__global__ void k(float* y) { y[0] = 1.0f; }
torch::Tensor forward(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward);
}"""
TRITON = "import triton\n@triton.jit\ndef k(x): pass"


def parse(text: str, finish_reason: str = "stop", contract: Contract = "kernel") -> ParsedAnswer:
    generation = Generation.model_validate({"text": text, "finish_reason": finish_reason})
    return parse_answer(generation, contract)


def source_of(text: str, finish_reason: str = "stop", contract: Contract = "kernel") -> str:
    answer = parse(text, finish_reason, contract)
    assert answer.candidate is not None, answer.reason
    assert answer.candidate.contract == contract
    return answer.candidate.source


def reason_of(text: str, finish_reason: str = "stop", contract: Contract = "kernel") -> str:
    answer = parse(text, finish_reason, contract)
    assert answer.reason is not None, answer.candidate
    return answer.reason


@pytest.mark.parametrize(
    "text",
    [
        f"```cuda\n{KERNEL}\n```",
        f"Here it is:\n\n```cpp\n{KERNEL}\n```\nIt is fast.",
        f"```\n{KERNEL}\n```",
        f"  ```c++\n{KERNEL}\n  ```",
        KERNEL,
        f"```cuda\n{KERNEL}",
        f"First idea:\n```cuda\n__global__ void old() {{}}\n```\nBetter:\n```cuda\n{KERNEL}\n```",
        f'It is\n```cuda\nextern "C" __global__ void k();\n```\nand\n```cuda\n{KERNEL}\n```',
        f"```cuda\n{KERNEL}\n```\nCompile with:\n```bash\nnvcc k.cu\n```",
        f"Here is the kernel: ```cuda\n{KERNEL}\n```",
        f"```cuda\n{KERNEL}```",
        f"~~~cuda\n{KERNEL}\n~~~",
        f"````markdown\n```cuda\n{KERNEL}\n```\n````",
        f"```\n```cuda\n{KERNEL}\n```\n```",
        f"Use a `__global__` function with `blockIdx.x`:\n```cuda\n{KERNEL}\n```\nThe `k` kernel is fast.",
        f"<think>First ```cuda\n__global__ void wrong() {{}}\n``` no.</think>\n```cuda\n{KERNEL}\n```",
        f"still thinking ```cuda\n__global__ void wrong() {{}}\n```</think>\n```cuda\n{KERNEL}\n```",
        f"Sure, here is the code:\n\n{KERNEL}\n\nThis kernel writes nothing.",
        f"```cuda\n{KERNEL}\n```\nAnd the host side:\n```cpp\nint main() {{ k<<<1, 1>>>(); }}\n```",
        f"```cuda\n{KERNEL}\n```\nWith a host:\n```cuda\n{KERNEL}\nint main() {{ k<<<1, 1>>>(); }}\n```",
    ],
)
def test_the_last_block_with_a_kernel_is_the_candidate(text: str) -> None:
    assert source_of(text) == KERNEL + "\n"


def test_windows_line_ends_and_html_escapes_are_undone() -> None:
    assert source_of(f"```cuda\n{KERNEL}\n```".replace("\n", "\r\n")) == KERNEL + "\n"
    escaped = (
        f"```cuda\n{PLAN}\n{BARE_KERNEL}\n```".replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace('"', "&quot;")
    )
    assert source_of(escaped) == f"{PLAN}\n{BARE_KERNEL}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{PLAN}\n```\n\n```cuda\n{BARE_KERNEL}\n```",
        f"```cuda\n{BARE_KERNEL}\n```\nLaunch it with\n```\n{PLAN}\n```",
        f"{PLAN}\n\n```cuda\n{BARE_KERNEL}\n```",
        f"```cuda\n{BARE_KERNEL}\n```\n\n{PLAN}",
        f"- `{PLAN}`\n\n```cuda\n{BARE_KERNEL}\n```",
        f"Launch: k grid=(ceil_div(n, 32)) block=(32)\n```cuda\n{BARE_KERNEL}\n```",
    ],
)
def test_a_launch_line_that_stands_outside_of_the_kernels_block_is_put_before_it(text: str) -> None:
    assert source_of(text) == f"{PLAN}\n{BARE_KERNEL}\n"


def test_a_scratch_line_comes_along_and_prose_about_launching_does_not() -> None:
    scratch = "// scratch: partial float32[n]"
    assert source_of(f"```\n{scratch}\n{PLAN}\n```\n```cuda\n{BARE_KERNEL}\n```").startswith(
        f"{scratch}\n{PLAN}\n"
    )
    assert source_of(f"The launch: it is simple.\n```cuda\n{BARE_KERNEL}\n```") == BARE_KERNEL + "\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer is empty"),
        ("   \n", "the answer is empty"),
        ("<think>hm</think>", "the answer is empty"),
        ("I cannot do that.", "no code block"),
        ("You need a __global__ function; write one.", "no code block"),
        ("```python\nprint(1)\n```", "no `__global__` function (it is Python)"),
        (f"```python\n{TRITON}\n```", "(it is Triton)"),
        (f'```python\nimport torch\nsource = """{KERNEL}"""\n```', "(it is Python)"),
        ("```c\n__kernel void k() {}\n```", "(it is OpenCL)"),
        ("```cpp\n#include <iostream>\nint main() { std::cout << 1; }\n```", "(it holds host code alone)"),
        ('```cuda\nextern "C" __global__ void k(float* y);\n```', "only declares its kernel"),
        ("```bash\nnvcc k.cu -o k\n```", "(it holds shell commands)"),
        (f"```cuda\n{KERNEL}\n" + "// __global__\n" * 20_000 + "```", "longer than"),
        (f"```cuda\n{KERNEL}\nint main() {{ return 0; }}\n```", "leave out `main()`:"),
        (
            f"```cuda\n{KERNEL}\nint main() {{ k<<<1, 1>>>(); }}\n```",
            "leave out `main()` and the launch `k<<<...>>>`",
        ),
        (f"```cuda\n{KERNEL}\nvoid run() {{ k<<<1, 1>>>(); }}\n```", "leave out the launch `k<<<...>>>`"),
    ],
)
def test_an_answer_without_a_candidate_says_why(text: str, reason: str) -> None:
    assert reason in reason_of(text)


def test_host_code_in_a_comment_is_no_host_code() -> None:
    assert source_of(f"```cuda\n// main launches k<<<1, 1>>>()\n{KERNEL}\n```").endswith(KERNEL + "\n")


@pytest.mark.parametrize(
    "text",
    [
        f"```cuda\n{PLAN}\n" + BARE_KERNEL[:-2],
        f"```cuda\n{PLAN}\n{BARE_KERNEL[:40]}",
        f"```cuda\n{PLAN}\n{BARE_KERNEL}\n" + 'extern "C" __global__ vo',
        f"```cuda\n{PLAN}\n// launch: second grid=(1) block=(1)\n{BARE_KERNEL}\n",
        f"{PLAN}\n{BARE_KERNEL[:-2]}",
    ],
)
def test_code_that_was_cut_off_is_no_candidate(text: str) -> None:
    assert "cut off" in reason_of(text, "length")


@pytest.mark.parametrize(
    "text",
    [
        f"```cuda\n{PLAN}\n{BARE_KERNEL}\n```\nand then",
        f"```cuda\n{PLAN}\n{BARE_KERNEL}",
        f"```cuda\n{PLAN}\n{BARE_KERNEL}\n\nThis kernel writes",
        f"```cuda\n{PLAN}\n{BARE_KERNEL}\n```\nFaster still:\n```cuda\n{PLAN}\n{BARE_KERNEL[:60]}",
    ],
)
def test_a_whole_kernel_counts_even_if_what_follows_was_cut_off(text: str) -> None:
    assert source_of(text, "length") == f"{PLAN}\n{BARE_KERNEL}\n"


def test_the_reason_for_a_cut_off_answer_counts_its_tokens_or_characters() -> None:
    generation = Generation(text="```cuda\n__global__ void k(", token_ids=(1, 2, 3), finish_reason="length")
    assert "after 3 tokens" in (parse_answer(generation).reason or "")
    assert "after 5 characters" in reason_of("So I ", "length")
    assert "still thinking" in reason_of("<think>So I", "length")


@pytest.mark.parametrize(
    "text",
    [f"```python\n{MODULE}\n```", MODULE, f"Sure:\n{MODULE}\n\nThis returns x; enjoy it.", f"```\n{MODULE}"],
)
def test_a_module_is_the_python_block_with_its_class(text: str) -> None:
    assert source_of(text, contract="module") == MODULE + "\n"


def test_a_module_that_was_cut_off_or_is_something_else_says_so() -> None:
    assert "cut off" in reason_of(f"```python\n{MODULE[:60]}", "length", "module")
    assert source_of(f"```python\n{MODULE}", "length", "module") == MODULE + "\n"
    assert "(it is CUDA C++)" in reason_of(f"```cuda\n{KERNEL}\n```", contract="module")
    assert "`class ModelNew`" in reason_of("```python\nx = 1\n```", contract="module")


def test_an_extension_keeps_its_host_code_and_needs_its_binding() -> None:
    assert source_of(f"```cuda\n{EXTENSION}\n```", contract="extension") == EXTENSION + "\n"
    assert source_of(f"```cuda\n{EXTENSION}", "length", "extension") == EXTENSION + "\n"
    assert "kernels alone" in reason_of(f"```cuda\n{KERNEL}\n```", contract="extension")
    assert "cut off" in reason_of(f"```cuda\n{EXTENSION[:-10]}", "length", "extension")


MARKS = (
    *("```", "```cuda", "```python", "~~~", "````", "\n", "\r\n", "<think>", "</think>", "&lt;"),
    *("}", "{", "<<<", "__global__", "\x00", '"', "/*", "é"),
)
WORDS = ("PYBIND11_MODULE", "int main() {", "class ModelNew", "prose. ", "// launch:", "\ud800", "\\\n")
PIECES = st.sampled_from([*MARKS, *WORDS, KERNEL, BARE_KERNEL, PLAN, MODULE, EXTENSION, TRITON])
ANSWERS = st.one_of(
    st.text(max_size=80), st.lists(PIECES, max_size=12).map("\n".join), st.lists(PIECES).map("".join)
)


@given(
    ANSWERS,
    st.sampled_from(["stop", "length"]),
    st.sampled_from(["kernel", "module", "extension"]),
)
def test_any_text_is_a_candidate_or_a_reason(text: str, finish_reason: str, contract: Contract) -> None:
    answer = parse(text, finish_reason, contract)
    assert (answer.candidate is None) != (answer.reason is None)
    assert answer.candidate is None or answer.candidate.source.strip()
    assert answer.reason is None or answer.reason.strip()


@pytest.mark.parametrize(
    "piece",
    [
        "`",
        "~",
        "~~~ ",
        " ",
        "\n",
        "```cuda\n",
        "<think>",
        "__global__ (",
        "launch: ",
        "import x\n",
        "{",
        "k<<<",
        "& lt;",
    ],
)
def test_noise_takes_no_time(piece: str) -> None:
    started = time.process_time()
    parse("__global__ void k() {\n" + piece * (150_000 // len(piece)) + "\n`")
    assert time.process_time() - started < 15


def test_an_answer_is_a_candidate_or_a_reason() -> None:
    with pytest.raises(ValueError, match="not both"):
        ParsedAnswer()
