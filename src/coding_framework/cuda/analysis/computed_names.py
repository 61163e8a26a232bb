"""Attribute names that a Python source puts together: `getattr(self, f"conv{i}")`.

Such a name is plain if what it can be stands in the source, or if it begins with a text that no forbidden
name begins with. Loops over numbers and over literal texts are followed, anything else is unknown.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from coding_framework.cuda.analysis.python_rules import FORBIDDEN_ATTRIBUTES

Texts = frozenset[str]
_A_NUMBER: Texts = frozenset({"0"})
"""Stands for all numbers: no forbidden name has a digit."""
_MAX_TEXTS = 1000
_NUMBER_FORMAT = re.compile(r"0?\d*d?")
_FIRST_HOLE = re.compile(r"[%{]")


class ComputedNames:
    """Knows the loops of a source; `bound` says how often it gives each name a meaning."""

    def __init__(self, nodes: Sequence[ast.AST], bound: Mapping[str, int]) -> None:
        looped: dict[str, list[Texts]] = defaultdict(list)
        if not bound.keys() & {"range", "enumerate", "str"}:
            for node in nodes:
                if isinstance(node, ast.For | ast.comprehension):
                    for name, texts in _looped(node.target, node.iter):
                        looped[name].append(texts)
        self._texts = {
            name: frozenset().union(*each) for name, each in looped.items() if len(each) == bound[name]
        }

    def is_plain(self, name: ast.expr) -> bool:
        """Whether it cannot be one of those that reach behind an object."""
        texts = {""}
        for part in self._parts(name):
            if part is None:
                return not any(forbidden.startswith(tuple(texts)) for forbidden in FORBIDDEN_ATTRIBUTES)
            if len(texts) * len(part) > _MAX_TEXTS:
                return False
            texts = {before + after for before in texts for after in part}
        return not texts & FORBIDDEN_ATTRIBUTES

    def _parts(self, node: ast.expr) -> Iterator[Texts | None]:
        """What each part can be, one after the other; None is anything."""
        match node:
            case ast.Constant(value=str(text)):
                yield frozenset({text})
            case ast.JoinedStr(values=values):
                for value in values:
                    yield from self._parts(value)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=form):
                texts = self._of(value)
                yield texts if form is None or (texts == _A_NUMBER and _is_number_format(form)) else None
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self._parts(left)
                yield from self._parts(right)
            case (
                ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod())
                | ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"))
            ):
                yield frozenset({_FIRST_HOLE.split(text)[0]})
                yield None
            case ast.Call(func=ast.Name(id="str"), args=[value], keywords=[]):
                yield self._of(value)
            case ast.Name():
                texts = self._of(node)
                yield texts if texts != _A_NUMBER else None  # `i + j` is no text
            case _:
                yield None

    def _of(self, node: ast.expr) -> Texts | None:
        return self._texts.get(node.id) if isinstance(node, ast.Name) else None


def _looped(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, Texts]]:
    """Names that a loop gives numbers or texts of the source, and which."""
    match target, over:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range")):
            yield name, _A_NUMBER
        case ast.Name(id=name), ast.Tuple(elts=values) | ast.List(elts=values):
            texts = [value.value for value in values if isinstance(value, ast.Constant)]
            if len(texts) == len(values) and all(isinstance(text, str) for text in texts):
                yield name, frozenset(map(str, texts))
        case ast.Tuple(elts=[ast.Name(id=number), item]), ast.Call(
            func=ast.Name(id="enumerate"), args=[values, *_]
        ):
            yield number, _A_NUMBER
            yield from _looped(item, values)


def _is_number_format(form: ast.expr) -> bool:
    """`02d`, but not `c`, which makes a letter of a number."""
    match form:
        case ast.JoinedStr(values=[ast.Constant(value=str(text))]):
            return _NUMBER_FORMAT.fullmatch(text) is not None
    return False
