"""Which types of a source are numbers, by name.

Guarantees: a type is called a number only if its words are arithmetic ones, or a name that every
`typedef` and `using` of the source gives such words to. Names that the source cannot be seen to leave
alone (a declaration that the parser did not understand, a macro that a condition decides on and that could
declare something) are none.
Templates, `auto`, `decltype`, classes and enumerations are none either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from coding_framework.cuda.analysis.macros import Macro
from coding_framework.cuda.analysis.prepared import CertainView
from coding_framework.cuda.analysis.syntax import last_name, parse, text, walk
from coding_framework.cuda.analysis.word_sets import words

_KEYWORDS = words("bool char short int long unsigned signed float double")
_STANDARD = words(
    "size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
    "uchar ushort uint ulong"
)
_QUALIFIERS = words("const volatile __grid_constant__")
_DECLARATIONS = ("type_definition", "alias_declaration", "using_declaration")
_DECLARING = re.compile(r"\b(?:typedef|using)\b")
_DECLARING_WORDS = words("typedef using struct class union enum template namespace extern")
_MAX_ALIASES = 16
"""Steps from a name to what it stands for."""


class NumberTypes:
    """The types of one source."""

    def __init__(self, view: CertainView) -> None:
        nodes = [node for node in walk(parse(view.text)) if node.type in _DECLARATIONS]
        num_understood = sum(not node.has_error for node in nodes)
        self._knows_names = num_understood == len(_DECLARING.findall(view.text)) and not any(
            _could_declare(macro, view.macro_names) for macro in view.doubtful
        )
        self._aliases = _aliases(nodes)

    def is_number(self, declaration: Node) -> bool:
        """Whether a `parameter_declaration`, with or without a name, is of an arithmetic type."""
        kind, declarator, default = (
            declaration.child_by_field_name(field) for field in ("type", "declarator", "default_value")
        )
        if (
            kind is None
            or declaration.has_error
            or not (declarator is None or declarator.type == "identifier")
        ):
            return False
        others = [child for child in declaration.named_children if child not in (kind, declarator, default)]
        return all(text(child) in _QUALIFIERS for child in others) and self._is_arithmetic(text(kind))

    def _is_arithmetic(self, meaning: str) -> bool:
        for _ in range(_MAX_ALIASES):
            if _KEYWORDS.issuperset(meaning.split()):
                return bool(meaning)
            if not self._knows_names:
                return False
            name = meaning.removeprefix("std::")
            if name not in self._aliases:
                return name in _STANDARD
            meaning = self._aliases[name]
        return False


def _could_declare(macro: Macro, macro_names: frozenset[str]) -> bool:
    """Whether what it stands for may name a type; a plain formula does not."""
    names = {token.text for token in macro.body if token.kind == "name"}
    is_formula = macro.parameters is not None and not macro.pastes
    return bool(names) and not (is_formula and names.isdisjoint(_DECLARING_WORDS | macro_names))


def _aliases(nodes: list[Node]) -> Mapping[str, str]:
    """Name → the words that it stands for; none where it is more than words, or differs between places."""
    found: dict[str, str] = {}
    for node in nodes:
        for name, meaning in _named(node):
            found[name] = meaning if found.get(name, meaning) == meaning else ""
    return found


def _named(node: Node) -> Iterator[tuple[str, str]]:
    kind = node.child_by_field_name("type")
    if node.type == "type_definition":
        for declarator in node.children_by_field_name("declarator"):
            is_plain = declarator.type in ("type_identifier", "primitive_type")
            yield _innermost(declarator), text(kind) if is_plain else ""
    elif node.type == "alias_declaration" and kind is not None:
        is_template = node.parent is not None and node.parent.type == "template_declaration"
        is_plain = kind.child_by_field_name("declarator") is None and not is_template
        yield (
            last_name(node.child_by_field_name("name")),
            text(kind.child_by_field_name("type")) if is_plain else "",
        )


def _innermost(declarator: Node) -> str:
    """The name below pointers, arrays and parentheses; a known type's name is a type there as well."""
    node: Node | None = declarator
    while node is not None and node.type not in ("type_identifier", "primitive_type"):
        inner = node.child_by_field_name("declarator")
        node = inner or (node.named_children[-1] if node.named_children else None)
    return text(node)
