"""What was settled so far, on disk, so that hours of judging survive a crash.

Guarantees: an outcome is on disk before it is used; a journal that ends in half a line, or that was kept
under other settings, loses nothing but those lines; a fault of the judge is not kept, so that a later run
asks again. It is an aid for going on: the data set is written from the outcomes, not from it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

from coding_framework.data.pair_records import RejectedDraft, SFTPair
from coding_framework.data.pairs.making import AnyDraft
from coding_framework.data.pairs.settling import JUDGE_FAULT
from coding_framework.monitoring.storage import RecordReader, append_line
from coding_framework.records import Record


class Settler(Protocol):
    """Who settles: a `PairSettler`."""

    def settle(self, draft: AnyDraft, /) -> SFTPair | RejectedDraft: ...


class _Line(Record):
    """One outcome."""

    key: str
    """Of the draft and the settings."""
    outcome: SFTPair | RejectedDraft
    """What came of it."""


class Journal:
    """Settles drafts, each once over all runs with the same `settings`."""

    def __init__(self, path: Path, settler: Settler, settings: str) -> None:
        self._path = path
        self._settler = settler
        self._settings = settings
        self._known = {line.key: line.outcome for line in RecordReader(path, _Line)}

    def settle(self, draft: AnyDraft) -> SFTPair | RejectedDraft:
        """As it was settled before, or now."""
        key = self._key(draft)
        known = self._known.get(key)
        if known is not None:
            return known
        outcome = self._settler.settle(draft)
        if isinstance(outcome, SFTPair) or outcome.reason != JUDGE_FAULT:
            append_line(self._path, _Line(key=key, outcome=outcome).model_dump_json())
        return outcome

    def _key(self, draft: AnyDraft) -> str:
        return hashlib.sha256("\0".join((self._settings, *draft.identity)).encode()).hexdigest()
