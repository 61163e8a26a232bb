"""The normal form of a PyTorch module's text: equal for modules that differ in names, layout, remarks and
sizes.

Guarantees: comments, docstrings, the names of classes, functions, arguments, variables and own attributes do
not count, nor do `get_inputs`, `get_init_inputs` and the constants of the file; every other token does. Two
problems that are one module on other shapes have one form.
"""

from __future__ import annotations

import ast
import hashlib

from coding_framework.data.archives.module_source import parsed

_INPUTS = ("get_inputs", "get_init_inputs")


def normal_module(source: str) -> str:
    """A digest; `source` must have passed `check_module_source`."""
    kept = [
        node
        for node in parsed(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name not in _INPUTS
    ]
    own = {name for node in kept for name in _bound(node)}
    numbers: dict[str, str] = {}
    words = [word for node in kept for word in _words(node, own, numbers)]
    return hashlib.sha256("\0".join(words).encode(errors="surrogatepass")).hexdigest()


def _bound(tree: ast.AST) -> set[str]:
    """Names that the text itself gives."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found - {"__init__", "forward", "self"}


def _words(node: ast.AST, own: set[str], numbers: dict[str, str]) -> list[str]:
    words = [type(node).__name__]
    for field, value in ast.iter_fields(node):
        items = value if isinstance(value, list) else [value]
        if field == "body" and items and _is_docstring(items[0]):
            items = items[1:]
        for item in items:
            if field in ("annotation", "returns", "ctx", "type_comment", "kind"):
                continue
            if isinstance(item, ast.AST):
                words += _words(item, own, numbers)
            elif isinstance(item, str) and item in own and not isinstance(node, ast.Constant):
                words.append(numbers.setdefault(item, f"${len(numbers)}"))
            else:
                words.append(repr(item))
    return words


def _is_docstring(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
