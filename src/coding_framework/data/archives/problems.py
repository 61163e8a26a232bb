"""What was wrong with an archive: a count for every kind, and the first cases with their places.

Guarantees: every row that was read is counted once, as bad, left out, a repetition or handed out; counts
are exact however many problems there are, while only the first hundred are kept in words, so a
broken file of a million rows costs no memory. It decides nothing: the readers and checks call it.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, get_args

from pydantic import Field, model_validator

from coding_framework.records import Record

ProblemKind = Literal[
    "unreadable_file",  # not opened at all, or a part of it is damaged: the rest is read
    "broken_stream",  # the hub stopped answering in the middle
    "broken_json",  # a line that is not JSON, as a truncated file ends with
    "broken_text",  # bytes that are not UTF-8
    "oversized",  # a line, a source or a profile beyond every sensible size
    "missing_column",
    "wrong_type",
    "out_of_range",
    "not_a_number",  # NaN where a number is needed
    "empty_text",
    "invalid_literal",  # a profile that is not the repr of the expected Python value
    "contradiction",  # columns that exclude each other, such as correct without a time
    "broken_module",  # a reference that lacks Model, get_inputs or get_init_inputs, or does not parse
]
FILE_KINDS = frozenset({"unreadable_file", "broken_stream"})
"""Problems of a file: no row was read, so none is counted as bad."""
assert frozenset(get_args(ProblemKind)) >= FILE_KINDS
PROBLEMS_KEPT = 100
"""How many problems a report holds in words."""


class RowProblem(Record):
    """Why one row, or one file, could not be used."""

    kind: ProblemKind
    """For counting."""
    file: str
    """The file, or `NAME/SPLIT` of a data set on the hub."""
    row: int | None = Field(default=None, ge=1)
    """Line of a text file, row of a table, counted from 1; None: the file as a whole."""
    column: str | None = None
    """Which column, where it is about one."""
    words: str
    """What is wrong, in words."""

    @property
    def place(self) -> str:
        row = f":{self.row}" if self.row is not None else ""
        return f"{self.file}{row}" + (f" {self.column}" if self.column else "")


class RowError(Exception):
    """A row that cannot be used; caught where its place is known, never seen by users."""

    def __init__(self, kind: ProblemKind, words: str, column: str | None = None) -> None:
        super().__init__(words)
        self.kind: ProblemKind = kind
        self.words = words
        self.column = column


class LoadReport(Record):
    """What one pass over an archive gave so far."""

    source: str
    """What was loaded."""
    rows_read: int = Field(ge=0)
    """Rows, lines or files that were looked at."""
    rows_bad: int = Field(ge=0)
    """Of these, unusable."""
    rows_filtered: int = Field(ge=0)
    """Sound, but not asked for."""
    rows_repeated: int = Field(ge=0)
    """Sound, but the same content was handed out before."""
    rows_kept: int = Field(ge=0)
    """Handed out, or skipped as handed out before."""
    problems_by_kind: dict[ProblemKind, int] = Field(default_factory=dict)
    """Exact counts, also of problems that are not among `problems`."""
    problems: tuple[RowProblem, ...] = Field(default=(), max_length=PROBLEMS_KEPT)
    """The first of them, in the order of reading."""
    complete: bool
    """Whether the pass came to the end of the archive."""

    @model_validator(mode="after")
    def _every_row_is_counted_once(self) -> LoadReport:
        accounted = self.rows_bad + self.rows_filtered + self.rows_repeated + self.rows_kept
        if accounted > self.rows_read or (self.complete and accounted != self.rows_read):
            raise ValueError(f"{self.rows_read} rows were read, but {accounted} are accounted for")
        return self

    @property
    def num_problems(self) -> int:
        return sum(self.problems_by_kind.values())

    @property
    def sentence(self) -> str:
        """One line for the head of a run and for its report."""
        extent = "" if self.complete else " so far"
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.problems_by_kind.items()))
        return (
            f"{self.source}: {self.rows_read} rows read{extent}, {self.rows_kept} used, "
            f"{self.rows_repeated} repeated, {self.rows_filtered} not asked for, {self.rows_bad} bad"
            + (f" ({kinds})" if kinds else "")
        )


class ProblemLog:
    """Counts while a pass goes on."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._kinds: Counter[ProblemKind] = Counter()
        self._problems: list[RowProblem] = []
        self.rows_read = 0
        self.rows_bad = 0
        self.rows_filtered = 0
        self.rows_repeated = 0
        self.rows_kept = 0
        self.complete = False

    def add(self, problem: RowProblem) -> None:
        """Counts the problem, and the row where it is about one."""
        self._kinds[problem.kind] += 1
        if problem.kind not in FILE_KINDS:
            self.rows_bad += 1
        if len(self._problems) < PROBLEMS_KEPT:
            self._problems.append(problem)

    def report(self) -> LoadReport:
        """What is known by now."""
        return LoadReport(
            source=self._source,
            rows_read=self.rows_read,
            rows_bad=self.rows_bad,
            rows_filtered=self.rows_filtered,
            rows_repeated=self.rows_repeated,
            rows_kept=self.rows_kept,
            problems_by_kind=dict(self._kinds),
            problems=tuple(self._problems),
            complete=self.complete,
        )
