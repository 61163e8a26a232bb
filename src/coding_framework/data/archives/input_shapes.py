"""The shapes that `get_inputs` asks for, as expressions over the module-level constants.

Guarantees: nothing is executed. Names are followed through the module's own assignments, so
`x_shape = (batch_size, *input_shape)` is seen as what it stands for. What cannot be followed (a loop, a
function, a branch) is left out: the answer may be incomplete, never made up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from coding_framework.data.archives.module_source import parsed

_FACTORIES = frozenset(("rand", "randn", "randint", "zeros", "ones", "empty", "full", "normal"))
_MAX_DEPTH = 20


@dataclass(frozen=True)
class InputShapes:
    """Every array that `get_inputs` makes, one expression for each extent."""

    arrays: tuple[tuple[ast.expr, ...], ...]

    def num_elements(self, constants: Mapping[str, int]) -> int:
        """Elements of all arrays together; extents that are not known count as one."""
        return sum(prod(_value(extent, constants) or 1 for extent in array) for array in self.arrays)

    def places(self, constant: str) -> list[tuple[int, int]]:
        """`(index, rank)` for every extent that depends on the constant."""
        return [
            (index, len(array))
            for array in self.arrays
            for index, extent in enumerate(array)
            if constant in names_in(extent)
        ]


def input_shapes(source: str) -> InputShapes:
    """Of a source that passed `check_module_source`."""
    tree = parsed(source)
    function = _function(tree, "get_inputs")
    known = _assignments(tree.body)
    known.update(_assignments(function.body))
    calls = (n for n in ast.walk(function) if isinstance(n, ast.Call) and _is_factory(n))
    arrays = (tuple(_extents(call, known)) for call in calls)
    return InputShapes(tuple(array for array in arrays if array))


def names_used(source: str, function_name: str) -> frozenset[str]:
    """Names that a function of the module depends on, followed through assignments."""
    tree = parsed(source)
    known = _assignments(tree.body)
    return _followed(names_in(_function(tree, function_name)), known)


def names_used_in_classes(source: str) -> frozenset[str]:
    """Module-level names that the model reads behind the back of its constructor."""
    tree = parsed(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bound = {a.arg for node in classes for a in ast.walk(node) if isinstance(a, ast.arg)}
    names = frozenset().union(*(names_in(node) for node in classes)) - bound
    return _followed(names, _assignments(tree.body))


def names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _followed(names: frozenset[str], known: Mapping[str, ast.expr]) -> frozenset[str]:
    seen: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        seen.add(name)
        if name in known:
            left |= names_in(known[name]) - seen
    return frozenset(seen)


def _function(tree: ast.Module, name: str) -> ast.FunctionDef:
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)


def _assignments(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Name → what it was last set to; of `a = b = 4` the second stands for the first."""
    known: dict[str, ast.expr] = {}
    for node in body:
        if isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            known[node.target.id] = node.value
        if isinstance(node, ast.Assign):
            first = node.targets[0]
            for target in node.targets:
                alias = target is not first and isinstance(first, ast.Name)
                known.update(_pairs(target, first if alias else node.value))
    return known


def _pairs(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        pairs = zip(target.elts, value.elts, strict=False)
        return {name.id: item for name, item in pairs if isinstance(name, ast.Name)}
    return {}


def _is_factory(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name.split(".")[-1] in _FACTORIES and name.startswith("torch.")


def _extents(call: ast.Call, known: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    name = ast.unparse(call.func).split(".")[-1]
    size = next((keyword.value for keyword in call.keywords if keyword.arg == "size"), None)
    arguments: list[ast.expr] = call.args
    if size is not None:
        arguments = [size]
    elif name in ("randint", "normal"):  # bounds or moments first, then the size
        arguments = call.args[-1:]
    elif name == "full":
        arguments = call.args[:1]
    for argument in arguments:
        yield from _flattened(argument, known, _MAX_DEPTH)


def _flattened(node: ast.expr, known: Mapping[str, ast.expr], depth: int) -> Iterator[ast.expr]:
    """The extents that an argument stands for: one, or those of a tuple or list."""
    if depth == 0:
        return
    if isinstance(node, ast.Starred):
        yield from _flattened(node.value, known, depth - 1)
    elif isinstance(node, ast.Tuple | ast.List):
        for item in node.elts:
            yield from _flattened(item, known, depth - 1)
    elif isinstance(node, ast.Name) and isinstance(known.get(node.id), ast.Tuple | ast.List | ast.Name):
        yield from _flattened(known[node.id], known, depth - 1)
    else:
        yield _Inlined(known, depth).visit(ast.parse(ast.unparse(node), mode="eval").body)


class _Inlined(ast.NodeTransformer):
    """Puts what a name stands for in its place, unless that is a plain number: those stay names."""

    def __init__(self, known: Mapping[str, ast.expr], depth: int) -> None:
        self._known = known
        self._depth = depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._known.get(node.id)
        if value is None or not names_in(value) or self._depth == 0:
            return node
        inner = ast.parse(ast.unparse(value), mode="eval").body
        result = _Inlined(self._known, self._depth - 1).visit(inner)
        assert isinstance(result, ast.expr)
        return result


def _value(node: ast.expr, constants: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left, constants), _value(node.right, constants)
    if left is None or right is None:
        return None
    return _arithmetic(node.op, left, right)


def _arithmetic(operator: ast.operator, left: int, right: int) -> int | None:
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.FloorDiv) and right != 0:
        return left // right
    return None
