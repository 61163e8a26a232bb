"""What an agent hands in, and the launch plan read out of it."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Literal

from pydantic import Field, field_serializer, field_validator

from coding_framework.records.base import Record
from coding_framework.records.expression import ExpressionField
from coding_framework.records.task import DType

Contract = Literal["kernel", "extension", "module"]
MAX_SOURCE_BYTES = 200_000


class Candidate(Record):
    """A source text under a contract. Nothing about it is trusted."""

    source: str
    """CUDA C++ with its launch plan in comments (contract `kernel`)."""
    contract: Contract = "kernel"
    """How the source is built and called."""

    @field_validator("source")
    @classmethod
    def _begins_with_its_text(cls, source: str) -> str:
        """Without the byte-order mark that some editors write."""
        return source.removeprefix("\ufeff")

    @cached_property
    def digest(self) -> str:
        """Content address: the first 16 hex digits of SHA-256 over contract and source."""
        text = f"{self.contract}\0{self.source}".encode(errors="surrogatepass")
        return hashlib.sha256(text).hexdigest()[:16]

    @field_serializer("source", when_used="json")
    def _writable_source(self, source: str) -> str:
        """Half a surrogate pair has no place in UTF-8: it is written as its number, so that files hold it."""
        return source.encode(errors="backslashreplace").decode()


class ScratchBuffer(Record):
    """Temporary device memory that the launch plan asks for; zero-filled it is not."""

    name: str
    """Name used in `args`."""
    dtype: DType
    """Element type."""
    num_elements: ExpressionField
    """How many elements, over the task's dimensions."""
    line: int = Field(ge=1)
    """Where the plan says so."""


class Launch(Record):
    """One kernel launch of the plan; launches run in order on one stream."""

    kernel: str
    """Name of an `extern "C" __global__` function."""
    grid: tuple[ExpressionField, ExpressionField, ExpressionField]
    """Blocks in x, y, z."""
    block: tuple[ExpressionField, ExpressionField, ExpressionField]
    """Threads of a block in x, y, z."""
    shared_bytes: ExpressionField
    """Dynamic shared memory."""
    arguments: tuple[ExpressionField, ...]
    """Names of buffers, or integer expressions, in the order of the kernel's parameters."""
    line: int = Field(ge=1)
    """Where the plan says so."""
    text: str
    """The plan's own words, for messages."""


class LaunchPlan(Record):
    """How a `kernel` candidate is run."""

    launches: tuple[Launch, ...] = Field(min_length=1)
    """In order."""
    scratch: tuple[ScratchBuffer, ...] = ()
    """Temporary buffers."""
