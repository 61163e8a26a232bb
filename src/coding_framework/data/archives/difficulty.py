"""The tier of a problem that comes without one, from its level, its operations and its size.

The rule, in this order:

1. Levels 3 and 4 (whole networks) are tier 3.
2. Otherwise the hardest operation decides that the reference calls or that the name mentions:
   element-wise 0; reductions, pooling, scans, losses and matrix times vector 1; products, convolutions,
   softmax and norms 2; attention and recurrent layers 3. With no known operation it is tier 1.
3. Level 2 (a chain of operations) is at least tier 2.
4. One harder: four operations or more in `forward`, unless the level says that it is a single one
   (level 1); or more than sixty lines of code.

The code that counts is the reference's, not the kernel's: every answer to one problem has the same
tier, and both archives agree on it. It is a guess for ordering lessons; nothing is judged by it.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from coding_framework.data.archives.module_source import parsed
from coding_framework.data.archives.rows import Difficulty

_WORDS: dict[Difficulty, str] = {
    3: "attention lstm gru grucell rnn rnncell transformer mamba",
    2: "matmul mm bmm gemm einsum linear conv softmax norm bilinear crossentropy",
    1: "sum mean max min amax amin argmax argmin prod cumsum cumprod pool loss kldiv logsumexp scan "
    "transpose permute histogram sort topk diag triu tril cosinesimilarity var std reduction",
    0: "relu sigmoid tanh gelu silu swish elu celu selu softplus softsign hardswish clamp abs exp log mish "
    "add mul sub div scalar threshold sqrt",
}
_WHOLE_WORD_LETTERS = 3
"""Words as short as this are parts of many others (`var` of `vary`): they must be the whole name."""
_MATRIX_VECTOR = re.compile(r"matrix_?vector|mat_?vec", re.IGNORECASE)
_SHAPE_WORDS = frozenset(
    ("size", "view", "reshape", "squeeze", "unsqueeze", "flatten", "contiguous", "dim", "len")
)
_MANY_OPERATIONS = 4
_MANY_LINES = 60
_TIERS: tuple[Difficulty, ...] = (0, 1, 2, 3)


@lru_cache(maxsize=1024)
def difficulty_of(name: str, source: str, level: int | None) -> Difficulty:
    """The tier of a problem; `source` must have passed `check_module_source`."""
    if level is not None and level >= 3:
        return 3
    tree = parsed(source)
    model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")
    tier = 1 if _MATRIX_VECTOR.search(name) else _hardest([*name.split("_"), *_called_names(model)])
    if level == 2:
        tier = max(tier, 2)
    if (level != 1 and _num_operations(model) >= _MANY_OPERATIONS) or _num_lines(tree) > _MANY_LINES:
        tier += 1
    return _TIERS[min(tier, 3)]


def _hardest(names: list[str]) -> int:
    """`Conv2d`, `conv_2d` and `ConvTranspose3d` all begin with `conv`; `BatchNorm2d` ends in `norm`."""
    tokens = [re.sub(r"\d+d?$|[^a-z0-9]", "", name.lower()) for name in names]
    for tier, words in _WORDS.items():
        if any(_mentions(token, word) for token in tokens for word in words.split()):
            return tier
    return 1


def _mentions(token: str, word: str) -> bool:
    if len(word) <= _WHOLE_WORD_LETTERS:
        return token == word
    return token.startswith(word) or token.endswith(word)


def _called_names(model: ast.ClassDef) -> list[str]:
    """`torch.matmul(a, b)` and `nn.Conv2d(…)` by their last name; `a @ b` is a product too."""
    names = []
    for node in ast.walk(model):
        if isinstance(node, ast.Call):
            names.append(ast.unparse(node.func).split(".")[-1])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            names.append("matmul")
    return names


def _num_operations(model: ast.ClassDef) -> int:
    """Calls and arithmetic in `forward`; questions about shapes are not operations."""
    count = 0
    for function in (n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"):
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                count += ast.unparse(node.func).split(".")[-1] not in _SHAPE_WORDS
            elif isinstance(node, ast.BinOp | ast.AugAssign):
                count += 1
    return count


def _num_lines(tree: ast.Module) -> int:
    """Lines of classes and functions as the parser writes them, docstrings and comments left out."""
    definitions = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    lines = sum(ast.unparse(node).count("\n") + 1 for node in definitions)
    nested = (inner for node in definitions for inner in ast.walk(node))
    return lines - sum(_docstring_lines(n) for n in nested if isinstance(n, ast.ClassDef | ast.FunctionDef))


def _docstring_lines(node: ast.ClassDef | ast.FunctionDef) -> int:
    docstring = ast.get_docstring(node, clean=False)
    return docstring.count("\n") + 1 if docstring is not None else 0
