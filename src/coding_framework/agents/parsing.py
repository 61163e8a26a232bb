"""From an answer's text to a candidate, or to the reason why there is none.

Models answer with more than was asked for: several blocks, prose with code in it, code without a fence,
thoughts, host code, code that was cut off. What can be used honestly is used: the last block with whole
kernels counts, and plan lines that stand elsewhere in the answer are put before it. Nothing is invented
or repaired inside the code. Guarantees: never raises whatever the text; a candidate or a reason, never
both; the reason says what to do differently. It does not judge the code.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import model_validator

from coding_framework.agents.answer_text import Block, clean_text, plan_text, split_answer, unfenced_code
from coding_framework.agents.code_kinds import (
    describe_language,
    host_code_reason,
    is_python,
    is_whole,
    kernel_part,
    python_is_whole,
    python_part,
)
from coding_framework.records import MAX_SOURCE_BYTES, Candidate, Contract, Generation, Record

MAX_ANSWER_CHARS = 2 * MAX_SOURCE_BYTES
_LANGUAGE = {"kernel": "cuda", "extension": "cuda", "module": "python"}
_MARK: dict[Contract, str] = {
    "kernel": "__global__",
    "extension": "PYBIND11_MODULE",
    "module": "class ModelNew",
}
_WANTED: dict[Contract, str] = {
    "kernel": "`__global__` function",
    "extension": "`PYBIND11_MODULE`",
    "module": "`class ModelNew`",
}


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


def parse_answer(generation: Generation, contract: Contract = "kernel") -> ParsedAnswer:
    """The last whole block with what the contract asks for; prose around it is ignored."""
    text = clean_text(generation.text)
    if not text.strip():
        return ParsedAnswer(reason=_empty_reason(generation, contract))
    if len(text) > MAX_ANSWER_CHARS:
        return ParsedAnswer(reason=f"the answer is longer than {MAX_ANSWER_CHARS:,} characters")
    blocks, prose = split_answer(text)
    fitting = [block for block in blocks if _fits(block, contract)]
    if not fitting:
        fitting = unfenced_code(prose, _MARK[contract])
    if not fitting:
        return ParsedAnswer(reason=_missing_reason(blocks, generation, contract))
    was_cut = generation.finish_reason == "length"
    whole = [block for block in fitting if _is_whole(block, contract, was_cut=was_cut)]
    if not whole:
        return ParsedAnswer(reason=_cut_reason(generation, contract))
    return _finish(whole, blocks, prose, contract)


def _fits(block: Block, contract: Contract) -> bool:
    _, mark, after = block.code.partition(_MARK[contract])
    if not mark or (contract == "kernel" and "{" not in after):
        return False
    return contract == "module" or not is_python(block.code, block.language)


def _is_whole(block: Block, contract: Contract, *, was_cut: bool) -> bool:
    """A closed block is taken as it is: if it is broken, the compiler says better what is wrong."""
    if block.closed or not was_cut:
        return True
    return python_is_whole(block.code) if contract == "module" else is_whole(block.code)


def _finish(whole: Sequence[Block], blocks: Sequence[Block], prose: str, contract: Contract) -> ParsedAnswer:
    block = whole[-1]
    if contract == "kernel":
        reasons = [host_code_reason(block.code) for block in whole]
        clean = [block for block, reason in zip(whole, reasons, strict=True) if reason is None]
        if not clean:
            return ParsedAnswer(reason=reasons[-1])
        block = clean[-1]
        source = plan_text(block.code, blocks, prose) + kernel_part(block.code, closed=block.closed)
    elif contract == "module":
        source = block.code if block.closed else python_part(block.code)
    else:
        source = kernel_part(block.code, closed=block.closed)
    if len(source.encode(errors="surrogatepass")) > MAX_SOURCE_BYTES:
        return ParsedAnswer(reason=f"the code is longer than {MAX_SOURCE_BYTES:,} bytes")
    return ParsedAnswer(candidate=Candidate(source=source.strip() + "\n", contract=contract))


def _empty_reason(generation: Generation, contract: Contract) -> str:
    if generation.text.strip() and generation.finish_reason == "length":
        return (
            f"the answer was cut off after {_length(generation)} while it was still thinking; think less and "
            f"write the ```{_LANGUAGE[contract]} block"
        )
    return f"the answer is empty; expected one ```{_LANGUAGE[contract]} code block"


def _missing_reason(blocks: Sequence[Block], generation: Generation, contract: Contract) -> str:
    language = _LANGUAGE[contract]
    if generation.finish_reason == "length":
        return (
            f"the answer was cut off after {_length(generation)}, before any {_WANTED[contract]} was "
            f"complete; write the code first and keep it short"
        )
    if contract == "kernel" and any("__global__" in block.code and "{" not in block.code for block in blocks):
        return "the code block only declares its kernel; write the whole function with its body"
    if blocks:
        found = describe_language(blocks[-1].code, blocks[-1].language, contract)
        wanted = "CUDA C++" if language == "cuda" else "Python"
        return (
            f"the code block holds no {_WANTED[contract]}{found}; expected {wanted} code in one "
            f"```{language} block"
        )
    return f"the answer holds no code block; expected one ```{language} block with the {contract}"


def _cut_reason(generation: Generation, contract: Contract) -> str:
    return (
        f"the answer was cut off after {_length(generation)}, before the code ended; "
        f"write a shorter {contract}"
    )


def _length(generation: Generation) -> str:
    if generation.token_ids:
        return f"{len(generation.token_ids)} tokens"
    return f"{len(generation.text)} characters"
