"""Reading a task stated as Python source: its module-level constants, and its three definitions.

The source is ours (the catalogue's, or a data set's that was taken in on purpose); it runs in the
verifier and, as the reference, in a child of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coding_framework.errors import UserError


@dataclass(frozen=True)
class TaskDefinitions:
    """What the source defines."""

    model_class: Callable[..., Any]
    get_inputs: Callable[[], Any]
    get_init_inputs: Callable[[], Any]


def override_constants(source: str, overrides: Mapping[str, int]) -> str:
    """The source with other integers for the named module-level constants; what follows from them follows.

    Raises `UserError` for a name that is not a module-level integer.
    """
    if not overrides:
        return source
    tree = ast.parse(source)
    left = set(overrides)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                left -= _override(target, node, overrides)
    if left:
        raise UserError(f"the task has no module-level integer constant {', '.join(sorted(left))}")
    return ast.unparse(tree)


def integer_constants(source: str) -> dict[str, int]:
    """What `override_constants` can replace, with its value; of `height = width = 8` the first name only."""
    found: dict[str, int] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            found.update(_integers(node.targets[0], node.value))
    return found


def _integers(target: ast.expr, value: ast.expr) -> dict[str, int]:
    if isinstance(target, ast.Name):
        number = integer_value(value)
        return {} if number is None else {target.id: number}
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return {name: number for pair in pairs for name, number in _integers(*pair).items()}
    return {}


def _override(target: ast.expr, node: ast.Assign, overrides: Mapping[str, int]) -> set[str]:
    if isinstance(target, ast.Name) and target.id in overrides and integer_value(node.value) is not None:
        node.value = ast.Constant(overrides[target.id])
        return {target.id}
    changed = set()
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        for position, (name, value) in enumerate(zip(target.elts, node.value.elts, strict=False)):
            if isinstance(name, ast.Name) and name.id in overrides and integer_value(value) is not None:
                node.value.elts[position] = ast.Constant(overrides[name.id])
                changed.add(name.id)
    return changed


def integer_value(node: ast.expr) -> int | None:
    """The value of an integer, or of sums, differences and products of integers such as `2048 * 2`."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp):
        left, right = integer_value(node.left), integer_value(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
    return None


def execute_source(source: str, name: str) -> TaskDefinitions:
    """Run the top level and take the definitions; raises `UserError` when one is missing."""
    namespace: dict[str, Any] = {"__name__": "task_source"}
    try:
        exec(compile(source, f"<task {name}>", "exec"), namespace)
    except Exception as error:
        raise UserError(f"the source of task {name} does not run: {type(error).__name__}: {error}") from error
    missing = [need for need in ("Model", "get_inputs", "get_init_inputs") if need not in namespace]
    if missing:
        raise UserError(f"the source of task {name} does not define {', '.join(missing)}")
    return TaskDefinitions(namespace["Model"], namespace["get_inputs"], namespace["get_init_inputs"])
