"""Whether a text is a problem in KernelBench's form, told from its syntax tree alone.

Guarantees: nothing is executed. A source that passes parses and defines `Model` with a `forward`
(its own, or of a base class in the same file or elsewhere), `get_inputs` and `get_init_inputs`, the
two callable without arguments. Not checked: whether it runs.
"""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

from coding_framework.data.archives.problems import RowError
from coding_framework.records import MAX_SOURCE_BYTES

_FUNCTIONS = ("get_inputs", "get_init_inputs")


def check_module_source(source: str, column: str | None = None) -> None:
    """Raises `RowError` with what is missing."""
    words = _defect(source)
    if words is not None:
        raise RowError("broken_module", words, column)


@lru_cache(maxsize=512)
def parsed(source: str) -> ast.Module:
    """The syntax tree, not to be changed; raises `SyntaxError` or `ValueError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


@lru_cache(maxsize=512)
def _defect(source: str) -> str | None:
    """Cached: an archive holds hundreds of kernels for one problem."""
    if len(source.encode(errors="surrogatepass")) > MAX_SOURCE_BYTES:
        return f"more than {MAX_SOURCE_BYTES} bytes"
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"not Python: {error}"
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [name for name in _FUNCTIONS if name not in functions]
    if "Model" not in classes:
        missing.insert(0, "class Model")
    if missing:
        return f"does not define {', '.join(missing)}"
    needy = [name for name in _FUNCTIONS if _needs_arguments(functions[name])]
    if needy:
        return f"{', '.join(needy)} cannot be called without arguments"
    return None if _has_forward(classes["Model"], classes) else "class Model has no forward"


def _needs_arguments(function: ast.FunctionDef) -> bool:
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    return positional > len(arguments.defaults) or None in arguments.kw_defaults


def _has_forward(model: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    """A base of the same file is looked into; of any other base but `Module` it is taken on trust."""
    seen: set[str] = set()
    left = [model]
    while left:
        node = left.pop()
        seen.add(node.name)
        if any(isinstance(item, ast.FunctionDef) and item.name == "forward" for item in node.body):
            return True
        for base in node.bases:
            name = ast.unparse(base)
            if name in classes and name not in seen:
                left.append(classes[name])
            elif name not in classes and name.split(".")[-1] != "Module":
                return True
    return False
