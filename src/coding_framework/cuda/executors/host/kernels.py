"""A candidate's own kernels: which there are, and the same source with all of them emptied.

Kernels are found on syntax trees: `__global__` functions of CUDA sources (in a module: of its string
literals) and functions decorated with `triton.jit`. Code that is put together at run time is not seen,
which counts against it: what has no kernel in its text has none.
"""

from __future__ import annotations

import ast
import re

from coding_framework.cuda.analysis.syntax import functions, parse
from coding_framework.records import Candidate

_CUDA_MARK = "__global__"
_SCOPE = re.compile(r"\b(?:namespace|struct|class)\s+(\w+)")


def own_kernel_names(candidate: Candidate) -> frozenset[str]:
    """Names of the kernels that the source defines."""
    if candidate.contract == "extension":
        return _cuda_kernel_names(candidate.source)
    tree = _python_tree(candidate.source)
    names: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if _is_cuda_text(node):
            names |= _cuda_kernel_names(node.value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.FunctionDef) and _is_triton(node):
            names.add(node.name)
    return frozenset(names)


def own_scopes(candidate: Candidate) -> frozenset[str]:
    """Names of the namespaces and classes that the source opens."""
    return frozenset(_SCOPE.findall(candidate.source))


def without_kernels(candidate: Candidate) -> Candidate:
    """The same candidate whose kernels do nothing."""
    if candidate.contract == "extension":
        return candidate.model_copy(update={"source": empty_cuda_kernels(candidate.source)})
    tree = _python_tree(candidate.source)
    if tree is None:
        return candidate
    return candidate.model_copy(update={"source": ast.unparse(_Emptier().visit(tree))})


def empty_cuda_kernels(source: str) -> str:
    """Every `__global__` function returns at once; its text stays, because what is defined there may be used
    elsewhere, and what then does not compile would prove nothing."""
    data = source.encode()
    bodies = [item.body for item in functions(parse(source)) if item.is_kernel]
    for body in sorted(bodies, key=lambda node: node.start_byte, reverse=True):
        data = data[: body.start_byte] + b"{ return;" + data[body.start_byte + 1 :]
    return data.decode()


class _Emptier(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(empty_cuda_kernels(node.value)) if _is_cuda_text(node) else node  # type: ignore[arg-type]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if _is_triton(node):
            node.body = [ast.Pass()]
            return node
        self.generic_visit(node)
        return node


def _cuda_kernel_names(source: str) -> frozenset[str]:
    return frozenset(item.name for item in functions(parse(source)) if item.is_kernel)


def _is_cuda_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA_MARK in node.value


def _is_triton(node: ast.FunctionDef) -> bool:
    heads = [ast.unparse(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list]
    return any(head.rpartition(".")[2] == "jit" for head in heads)


def _python_tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None
