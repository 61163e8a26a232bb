"""From an answer's text to a candidate, or to the reason why there is none."""

from __future__ import annotations

import re

from pydantic import model_validator

from coding_framework.records import MAX_SOURCE_BYTES, Candidate, Generation, Record

_FENCE = re.compile(r"^[ \t]*```[ \t]*([\w+#-]*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


class ParsedAnswer(Record):
    """A candidate, or the reason why there is none."""

    candidate: Candidate | None = None
    """The code found."""
    reason: str | None = None
    """Why none was found, in words for the next turn."""

    @model_validator(mode="after")
    def _one_of_both(self) -> ParsedAnswer:
        if (self.candidate is None) == (self.reason is None):
            raise ValueError("an answer holds a candidate or a reason, not both")
        return self


def parse_answer(generation: Generation) -> ParsedAnswer:
    """The last block with a kernel counts; prose around it is ignored."""
    text = generation.text
    blocks = [match[2] for match in _FENCE.finditer(text)]
    kernels = [block for block in blocks if "__global__" in block]
    if kernels:
        return _finish(kernels[-1], generation)
    if "__global__" in text and not blocks:
        return _finish(text, generation)
    if blocks:
        return ParsedAnswer(reason="the code block holds no `__global__` function; expected CUDA C++ code")
    if not text.strip():
        return ParsedAnswer(reason="the answer is empty; expected one ```cuda code block")
    return ParsedAnswer(reason="the answer holds no code block; expected one ```cuda block with the kernel")


def _finish(source: str, generation: Generation) -> ParsedAnswer:
    if generation.finish_reason == "length" and not _ends_closed(generation.text):
        return ParsedAnswer(
            reason=f"the answer was cut off after {len(generation.token_ids)} tokens, before the code ended; "
            "write a shorter kernel"
        )
    if len(source.encode()) > MAX_SOURCE_BYTES:
        return ParsedAnswer(reason=f"the code is longer than {MAX_SOURCE_BYTES:,} bytes")
    return ParsedAnswer(candidate=Candidate(source=source.strip() + "\n"))


def _ends_closed(text: str) -> bool:
    """Whether every fence that was opened was closed again."""
    return "```" in text and len(re.findall(r"^[ \t]*```", text, re.MULTILINE)) % 2 == 0
