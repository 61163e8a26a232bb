"""What was settled so far, on disk, so that hours of judging survive a crash.

Guarantees: an outcome is on disk before it is used; a journal that ends in half a line, or that was kept
under other settings, loses nothing but those lines; a fault of the judge is not kept, so that a later run
asks again. It is an aid for going on: the data set is written from the outcomes, not from it.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import IO, Protocol

from pydantic import ValidationError

from coding_framework.data.pair_judging import RejectedDraft
from coding_framework.data.pair_records import SFTPair
from coding_framework.data.pairs.drafts import CatalogueDraft
from coding_framework.data.pairs.settling import JUDGE_FAULT
from coding_framework.records import Record


class Settler(Protocol):
    """Who settles: a `PairSettler`."""

    def settle(self, draft: CatalogueDraft, /) -> SFTPair | RejectedDraft: ...

    def remember(self, pair: SFTPair, /) -> None: ...


class _Line(Record):
    """One outcome."""

    key: str
    """Of the draft and the settings."""
    pair: SFTPair | None = None
    rejected: RejectedDraft | None = None


class Journal:
    """Settles drafts, each once over all runs with the same `settings`."""

    def __init__(self, path: Path, settler: Settler, settings: str) -> None:
        self._settler = settler
        self._settings = settings
        self._known = _read(path)
        self._lock = threading.Lock()
        self._file: IO[str] = path.open("a", encoding="utf-8")
        if path.stat().st_size:
            self._file.write("\n")  # whatever half line is there ends here

    def settle(self, draft: CatalogueDraft) -> SFTPair | RejectedDraft:
        """As it was settled before, or now."""
        key = self._key(draft)
        known = self._known.get(key)
        if known is not None:
            if isinstance(known, SFTPair):
                self._settler.remember(known)
            return known
        outcome = self._settler.settle(draft)
        if isinstance(outcome, SFTPair):
            self._write(_Line(key=key, pair=outcome))
        elif outcome.reason != JUDGE_FAULT:
            self._write(_Line(key=key, rejected=outcome))
        return outcome

    def close(self) -> None:
        self._file.close()

    def _key(self, draft: CatalogueDraft) -> str:
        shown = draft.shown.kept if draft.shown is not None else ""
        parts = (self._settings, draft.kind, draft.original.name, draft.task.prompt, draft.answer.kept, shown)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _write(self, line: _Line) -> None:
        text = line.model_dump_json(exclude_none=True) + "\n"
        with self._lock:
            self._file.write(text)
            self._file.flush()


def _read(path: Path) -> dict[str, SFTPair | RejectedDraft]:
    known: dict[str, SFTPair | RejectedDraft] = {}
    if not path.exists():
        return known
    with path.open(encoding="utf-8", errors="replace") as lines:
        for text in lines:
            try:
                line = _Line.model_validate_json(text)
            except ValidationError:
                continue
            outcome = line.pair or line.rejected
            if outcome is not None:
                known[line.key] = outcome
    return known
