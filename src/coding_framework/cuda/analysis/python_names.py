"""What the names of a Python source stand for, through imports and plain aliases (`s = torch.cuda`).

A module may be used by its name and by names that stand for nothing else. Any other use of it as a value
(in a list, as an argument, under a name with two meanings) is listed, because what is then used of it
cannot be read in the text.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from coding_framework.cuda.analysis.computed_names import ComputedNames
from coding_framework.cuda.analysis.word_sets import words

MAX_ALIAS_ROUNDS = 20
MODULES = words(
    "torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.modules torch.nn.parameter "
    "torch.cuda torch.cuda.amp torch.cuda.nvtx torch.cuda.random torch.cuda.memory torch.cuda.streams "
    "torch.cuda.graphs torch.utils torch.utils.cpp_extension torch.utils.data torch.autograd "
    "torch.autograd.function torch.autograd.graph torch.autograd.functional torch.backends "
    "torch.backends.cuda torch.backends.cudnn torch.jit torch.fx torch.func torch.linalg torch.fft "
    "torch.special torch.amp torch.random torch.testing torch.types torch.functional torch.storage "
    "torch.version torch.serialization torch.optim torch.sparse torch.export torch._C torch._dynamo "
    "torch._inductor torch._tensor torch._ops torch._utils triton triton.language triton.runtime"
)
"""Modules that are there without being imported by name; others are known by their import."""
OFTEN_WITHIN = words(
    "sys os builtins torch gc inspect importlib ctypes subprocess threading socket shutil traceback "
    "multiprocessing atexit mmap pickle io types weakref operator asyncio pydoc timeit"
)
"""Modules that others import, and that are reached through them: `torch.os`, `random._os`."""


def parts_within(dotted: str) -> Iterator[str]:
    """`os.system` for `torch.os.system`: what a path names behind a module that lies in another."""
    parts = dotted.split(".")
    for at in range(1, len(parts)):
        if parts[at].lstrip("_") in OFTEN_WITHIN:
            yield ".".join([parts[at].lstrip("_"), *parts[at + 1 :]])


class Names:
    """Resolves `F.relu` to `torch.nn.functional.relu`."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self.imported: list[tuple[str, int]] = []
        """Dotted names that are imported, with their lines."""
        self.defined: set[str] = set()
        """Functions and classes that the source defines."""
        self.hidden: list[tuple[str, int]] = []
        """Modules that are used as values, with their lines."""
        self._bound = Counter(name for node in nodes for name in _bound_by(node))
        self.computed = ComputedNames(nodes, self._bound)
        """Names of attributes that the source puts together."""
        self._stands_for: dict[str, str] = {}
        self._modules: set[str] = set(MODULES)
        self._called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            self._read(node)
        for _round in range(MAX_ALIAS_ROUNDS):
            if not self._read_aliases(nodes):
                break
        self._find_hidden(nodes)

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.split(".")[0]
                self._import(alias.name, alias.asname or root, alias.name if alias.asname else root, node)
                self._modules |= {alias.name, root}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                dotted = f"{node.module or ''}.{alias.name}"
                self._import(dotted, alias.asname or alias.name, dotted, node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.defined.add(node.name)

    def _import(self, imported: str, name: str, dotted: str, node: ast.stmt) -> None:
        self.imported.append((imported, node.lineno))
        first = self._stands_for.setdefault(name, dotted)
        if first != dotted and (self._is_module(first) or self._is_module(dotted)):
            self.hidden.append((dotted, node.lineno))

    def _read_aliases(self, nodes: Sequence[ast.AST]) -> bool:
        """Whether a name was learnt."""
        before = len(self._stands_for)
        for node in nodes:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                dotted = self.dotted(node.value)
                if dotted is not None:
                    self._stands_for.setdefault(node.targets[0].id, dotted)
        return len(self._stands_for) > before

    def _find_hidden(self, nodes: Sequence[ast.AST]) -> None:
        plain = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        plain |= {id(asked) for node in nodes for asked in _only_asked(node)}
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name) and self._bound[target.id] == 1:
                    plain.add(id(node.value))
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                dotted = self.dotted(node) if id(node) not in plain else None
                if dotted is not None and self._is_module(dotted):
                    self.hidden.append((dotted, node.lineno))

    def _is_module(self, dotted: str) -> bool:
        return dotted in self._modules or dotted.rpartition(".")[2].lstrip("_") in OFTEN_WITHIN

    def is_called(self, node: ast.AST) -> bool:
        """Whether it stands before the parentheses of a call."""
        return id(node) in self._called

    def dotted(self, node: ast.AST) -> str | None:
        """The full name of `a.b.c` where `a` is imported; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._stands_for:
            return None
        return ".".join([self._stands_for[node.id], *reversed(parts)])


def _only_asked(node: ast.AST) -> Iterator[ast.AST]:
    """Modules of which the text says what is asked: `hasattr(torch, "compile")`, `triton is None`."""
    match node:
        case ast.Call(
            func=ast.Name(id="hasattr" | "getattr"), args=[module, ast.Constant(value=str()), *_], keywords=[]
        ):
            yield module
        case ast.Compare(left=module, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield module


def _bound_by(node: ast.AST) -> Iterator[str]:
    """Names that get a meaning here."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.split(".")[0] for alias in aliases)
