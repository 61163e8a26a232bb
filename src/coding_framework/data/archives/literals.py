"""Python values out of the text that `repr` made of them, as two columns of the archive hold them.

Guarantees: nothing is executed; text that is not a literal of numbers, strings, lists, tuples, sets
and dictionaries raises `RowError`, and so does text that is too long or too deeply nested. `nan` and
`inf`, which `repr` writes without quotes, are read as the floats they were.
"""

from __future__ import annotations

import ast
import math
import warnings
from contextlib import suppress

from coding_framework.data.archives.problems import RowError

MAX_LITERAL_CHARS = 2_000_000
_FLOATS = {"nan": math.nan, "inf": math.inf}


class _NamedFloats(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_FLOATS[node.id]) if node.id in _FLOATS else node


def parse_literal(text: str, column: str) -> object:
    """The value whose `repr` this is."""
    if len(text) > MAX_LITERAL_CHARS:
        raise RowError("oversized", f"{len(text)} characters, {MAX_LITERAL_CHARS} are the limit", column)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes within a string are the archive's business
            tree = ast.parse(text.strip(), mode="eval")
            with suppress(ValueError):  # all but a few have no such float, and visiting takes half the time
                return ast.literal_eval(tree)
            return ast.literal_eval(_NamedFloats().visit(tree))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise RowError("invalid_literal", f"not the repr of a Python value: {error}", column) from error
