"""From answers to candidates."""

from __future__ import annotations

import pytest

from coding_framework.agents.parsing import ParsedAnswer, parse_answer
from coding_framework.records import Generation

KERNEL = '// launch: grid=(1) block=(1)\nextern "C" __global__ void k() {}'


def parse(text: str, finish_reason: str = "stop") -> ParsedAnswer:
    return parse_answer(Generation.model_validate({"text": text, "finish_reason": finish_reason}))


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
        f"```cuda\n{KERNEL}\n```\nCompile with:\n```bash\nnvcc k.cu\n```",
    ],
)
def test_the_last_block_with_a_kernel_is_the_candidate(text: str) -> None:
    answer = parse(text)
    assert answer.candidate is not None
    assert answer.candidate.source == KERNEL + "\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer is empty"),
        ("   \n", "the answer is empty"),
        ("I cannot do that.", "no code block"),
        ("```python\nprint(1)\n```", "no `__global__` function"),
        ("```cuda\n" + "// __global__\n" * 20_000 + "```", "longer than"),
    ],
)
def test_an_answer_without_a_candidate_says_why(text: str, reason: str) -> None:
    answer = parse(text)
    assert answer.candidate is None
    assert reason in (answer.reason or "")


def test_code_that_was_cut_off_is_no_candidate() -> None:
    assert "cut off" in (parse(f"```cuda\n{KERNEL}", "length").reason or "")
    assert parse(f"```cuda\n{KERNEL}\n```\nand then", "length").candidate is not None


def test_an_answer_is_a_candidate_or_a_reason() -> None:
    with pytest.raises(ValueError, match="not both"):
        ParsedAnswer()
