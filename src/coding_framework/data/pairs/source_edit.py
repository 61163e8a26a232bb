"""Edits of a CUDA source at places that its syntax tree names.

Guarantees: places are byte offsets of the tree, so a name in a string or in a comment is never taken
for code; plan lines (`// launch:`, `// scratch:`) are found as the judge finds them. It does not know
scopes: a renaming holds for the whole source, which keeps the meaning as long as every new name is new.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import declared_name, functions, parse, text, walk

PLAN_LINE = re.compile(r"[ \t]*//+[ \t]*(?:launch|scratch)[ \t]*:", re.IGNORECASE)
WORD = re.compile(r"\b[A-Za-z_]\w*")
_SCRATCH_NAME = re.compile(r"//+\s*scratch\s*:\s*([A-Za-z_]\w*)", re.IGNORECASE)


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` become `new`."""

    start: int
    end: int
    new: str

    @classmethod
    def of(cls, node: Node, new: str) -> Edit:
        return cls(node.start_byte, node.end_byte, new)


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """The source with all edits made; they must not overlap."""
    data, parts, at = source.encode(), [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise ValueError(f"edits overlap at byte {edit.start}")
        parts += [data[at : edit.start], edit.new.encode()]
        at = edit.end
    return b"".join([*parts, data[at:]]).decode()


def nodes(source: str, *types: str) -> list[Node]:
    """All nodes of these types, in the order of the source."""
    return [node for node in walk(parse(source)) if node.type in types]


def is_plan_line(line: str) -> bool:
    return PLAN_LINE.match(line) is not None


def rename_code(source: str, names: Mapping[str, str]) -> str:
    """Every identifier of the code among `names` replaced; comments stay."""
    found = nodes(source, "identifier")
    return apply_edits(
        source, [Edit.of(node, names[word]) for node in found if (word := text(node)) in names]
    )


def rename_plan(source: str, names: Mapping[str, str]) -> str:
    """Every word of the plan lines among `names` replaced, after the directive itself."""
    return "\n".join(_rename_plan_line(line, names) for line in source.split("\n"))


def _rename_plan_line(line: str, names: Mapping[str, str]) -> str:
    head = PLAN_LINE.match(line)
    if head is None:
        return line
    return line[: head.end()] + replace_words(line[head.end() :], names)


def replace_words(words: str, names: Mapping[str, str]) -> str:
    """Whole words only, all at once."""
    return WORD.sub(lambda match: names.get(match[0], match[0]), words)


def without_remarks(source: str) -> str:
    """The source without its comments, plan lines kept."""
    edits = [
        Edit(node.start_byte, node.end_byte, "")
        for node in nodes(source, "comment")
        if not is_plan_line(text(node))
    ]
    lines = apply_edits(source, edits).split("\n")
    before = source.split("\n")
    if len(lines) != len(before):  # a remark of several lines: what is empty now goes
        return "\n".join(line.rstrip() for line in lines if line.strip())
    kept = [line.rstrip() for line, old in zip(lines, before, strict=True) if line.strip() or not old.strip()]
    return "\n".join(kept)


def kernel_names(source: str) -> tuple[str, ...]:
    """The `__global__` functions, in order."""
    return tuple(function.name for function in functions(parse(source)) if function.is_kernel)


def scratch_names(source: str) -> tuple[str, ...]:
    """The buffers that the plan asks for."""
    return tuple(match[1] for line in source.split("\n") if (match := _SCRATCH_NAME.match(line.strip())))


def local_names(source: str) -> tuple[str, ...]:
    """What may be renamed freely: parameters, local variables and device functions, in order.

    Names that a macro's text holds stay as they are, because that text is not parsed.
    """
    macros = {word for node in nodes(source, "preproc_arg") for word in WORD.findall(text(node))}
    names = dict.fromkeys(name for name in _declared(source) if name and name not in macros)
    kernels = kernel_names(source)
    return tuple(name for name in names if name not in kernels)


def _declared(source: str) -> Iterator[str]:
    for function in functions(parse(source)):
        if not function.is_kernel:
            yield function.name
        for parameter in function.parameters:
            yield declared_name(parameter.child_by_field_name("declarator"))
        for node in walk(function.body):
            if node.type == "declaration":
                for declarator in node.children_by_field_name("declarator"):
                    yield declared_name(declarator)


def words_of(source: str) -> frozenset[str]:
    """Every word of the source, wherever it stands."""
    return frozenset(WORD.findall(source))
