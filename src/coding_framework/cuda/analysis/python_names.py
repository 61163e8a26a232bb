"""What the names of a Python source stand for, through imports and plain aliases (`s = torch.cuda`)."""

from __future__ import annotations

import ast
from collections.abc import Sequence

MAX_ALIAS_ROUNDS = 3


class Names:
    """Resolves `F.relu` to `torch.nn.functional.relu`."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self.imported: list[tuple[str, int]] = []
        """Dotted names that are imported, with their lines."""
        self.defined: set[str] = set()
        """Functions and classes that the source defines."""
        self._stands_for: dict[str, str] = {}
        for node in nodes:
            self._read(node)
        for _round in range(MAX_ALIAS_ROUNDS):
            self._read_aliases(nodes)

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imported.append((alias.name, node.lineno))
                root = alias.name.split(".")[0]
                self._stands_for[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                dotted = f"{node.module or ''}.{alias.name}"
                self.imported.append((dotted, node.lineno))
                self._stands_for[alias.asname or alias.name] = dotted
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.defined.add(node.name)

    def _read_aliases(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                dotted = self.dotted(node.value)
                if dotted is not None:
                    self._stands_for.setdefault(node.targets[0].id, dotted)

    def dotted(self, node: ast.AST) -> str | None:
        """The full name of `a.b.c` where `a` is imported; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._stands_for:
            return None
        return ".".join([self._stands_for[node.id], *reversed(parts)])
