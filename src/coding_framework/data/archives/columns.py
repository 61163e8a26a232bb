"""Typed reading of one untyped row: every refusal is a `RowError` that names the column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from coding_framework.data.archives.problems import RowError
from coding_framework.records import MAX_SOURCE_BYTES


class Columns:
    """One row; asking for a column checks it."""

    def __init__(self, columns: Mapping[str, object], required: Iterable[str]) -> None:
        missing = [name for name in required if name not in columns]
        if missing:
            raise RowError("missing_column", f"there is no column {', '.join(missing)}", missing[0])
        self._columns = columns

    def text(self, name: str, max_bytes: int = MAX_SOURCE_BYTES) -> str:
        """Text with something in it."""
        value = self.optional_text(name, max_bytes)
        if value is None:
            raise self._wrong_type(name, "text") if self._columns[name] is None else _empty(name)
        return value

    def optional_text(self, name: str, max_bytes: int) -> str | None:
        """Text; None where the row has none or blanks only."""
        value = self._columns[name]
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._wrong_type(name, "text")
        size = len(value.encode(errors="surrogatepass"))
        if size > max_bytes:
            raise RowError("oversized", f"{size} bytes, {max_bytes} are the limit", name)
        return value if value.strip() else None

    def flag(self, name: str) -> bool:
        """True or false, no number and no word for it."""
        value = self._columns[name]
        if not isinstance(value, bool):
            raise self._wrong_type(name, "true or false")
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self._columns[name]
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong_type(name, "a whole number")
        if not low <= value <= high:
            raise RowError("out_of_range", f"{value} is not from {low} to {high}", name)
        return value

    def is_nan(self, name: str) -> bool:
        value = self._columns[name]
        return isinstance(value, float) and math.isnan(value)

    def number(self, name: str, *, above_zero: bool = False, finite: bool = True) -> float | None:
        """A number from 0 on (`above_zero`: not 0 either); None where the row has none."""
        value = self._columns[name]
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._wrong_type(name, "a number")
        try:
            number = float(value)
        except OverflowError as error:
            raise RowError("out_of_range", "a whole number beyond any float", name) from error
        if math.isnan(number):
            raise RowError("not_a_number", "NaN where a number is needed", name)
        if number < 0 or (above_zero and number == 0) or (finite and math.isinf(number)):
            raise RowError("out_of_range", f"{number} makes no sense here", name)
        return number

    def _wrong_type(self, name: str, wanted: str) -> RowError:
        found = "nothing" if self._columns[name] is None else type(self._columns[name]).__name__
        return RowError("wrong_type", f"expected {wanted}, found {found}", name)


def _empty(name: str) -> RowError:
    return RowError("empty_text", "the text is empty", name)
