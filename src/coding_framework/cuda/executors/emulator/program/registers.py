"""Numbers for registers, and the expressions of the special ones."""

from __future__ import annotations

import re

from coding_framework.cuda.executors.emulator.program.code import Name, UnsupportedPtx
from coding_framework.cuda.executors.emulator.ptx import Function

_DIGITS = re.compile(r"\d+$")
_AXES = re.compile(r"^%(tid|ntid|ctaid|nctaid)\.([xyz])$")
_SPECIAL = frozenset(
    {
        "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "dynamic_smem_size", "total_smem_size",
        "clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi",
        "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt",
    }
)  # fmt: skip
CARRY: Name = (-1, "%cc")


class RegisterTable:
    """One number for every register of every inlined instance."""

    def __init__(self, instances: list[Function]) -> None:
        self._instances = instances
        self._index: dict[Name, int] = {}
        self.types: list[str] = []

    def index(self, name: Name, line: int | None = None) -> int:
        found = self._index.get(name)
        if found is None:
            found = self.add(name, self._declared_type(name, line))
        return found

    def add(self, name: Name, kind: str) -> int:
        """A new register of a type; known names keep their number."""
        if name not in self._index:
            self._index[name] = len(self.types)
            self.types.append(kind)
        return self._index[name]

    def _declared_type(self, name: Name, line: int | None) -> str:
        if name == CARRY:
            return "pred"
        declared = self._instances[name[0]].registers
        kind = declared.get(name[1]) or declared.get(_DIGITS.sub("", name[1]) + "*")
        if kind is None:
            raise UnsupportedPtx(f"register `{name[1]}`", line)
        return kind

    @staticmethod
    def special(name: str) -> str | None:
        """The expression of a special register; None for an ordinary one."""
        if match := _AXES.match(name):
            return f"L.special('{match[1]}', '{match[2]}')"
        if name[1:] in _SPECIAL:
            return f"m.special(L, '{name[1:]}')"
        return None
