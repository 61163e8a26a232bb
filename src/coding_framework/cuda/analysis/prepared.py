"""A source made ready for analysis: directives apart, macros expanded, the rest as a syntax tree.

The tree is that of the *view*: the source with comments blank, line continuations undone, `#define` and
its like taken out and the source's own macros expanded, every token on its line. Rules that look at
the view see through macros; rules on directives look at `directives`. Never raises on any text: what
went wrong stands in `faults`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from coding_framework.cuda.analysis.macros import Expander, ExpansionLimit, Macro, Paste
from coding_framework.cuda.analysis.syntax import parse, parse_is_complete
from coding_framework.cuda.analysis.tokens import Oddity, Token, tokenize, trigraph_lines

_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"})
_LAMBDA_WORDS = re.compile(r"(?<=\])\s*(?:(?:__host__|__device__)\s*)+(?=[({])")
_HEADER_PASTES = ("__CONCAT", "C10_CONCATENATE", "C10_CONCATENATE_IMPL", "PYBIND11_CONCAT", "_CCCL_PP_CAT")
"""Macros of common headers that paste their two arguments."""


@dataclass(frozen=True)
class Directive:
    """One preprocessor line."""

    name: str
    """`include`, `define`, ...; empty for a lone `#` or a line marker."""
    tokens: tuple[Token, ...]
    """What follows the name, without blanks."""
    text: str
    """The same as written, with blanks."""
    line: int


@dataclass(frozen=True)
class PreparedSource:
    """What the analysers look at."""

    view: str
    root: Node
    device_lambdas: tuple[int, ...]
    """Byte offsets in the view of the `__device__` of each lambda, which is blank there."""
    directives: tuple[Directive, ...]
    macros: tuple[Macro, ...]
    """Every definition, in order."""
    used_macros: frozenset[str]
    """Those that the source itself expands."""
    pastes: tuple[Paste, ...]
    """Names built with `##`, in every way that the definitions allow."""
    oddities: tuple[Oddity, ...]
    faults: tuple[Oddity, ...]
    """`macro-expansion` or `unparsable`: part of the source could not be seen."""


@dataclass(frozen=True)
class CertainView:
    """The view in which only those macros are expanded that no condition decides on."""

    text: str
    doubtful: tuple[Macro, ...]
    """The others, which stand in it by name."""
    macro_names: frozenset[str]
    """Of all of them."""


@lru_cache(maxsize=8)
def prepare(source: str) -> PreparedSource:
    """Reads a source once for all analysers; the last few are kept."""
    tokens, oddities = tokenize(source)
    oddities += [Oddity("trigraph", line) for line in trigraph_lines(tokens)]
    pieces, directives = _split_directives(tokens)
    macros = tuple(macro for directive in directives if (macro := read_macro(directive)) is not None)
    faults: list[Oddity] = []
    view, used, pastes = _expanded(pieces, macros, faults)
    view, device_lambdas = _plain_lambdas(view)
    root = parse(view)
    if not parse_is_complete(view):
        faults.append(Oddity("unparsable", 1))
    return PreparedSource(
        view=view,
        root=root,
        device_lambdas=device_lambdas,
        directives=tuple(directives),
        macros=macros,
        used_macros=used,
        pastes=pastes,
        oddities=tuple(oddities),
        faults=tuple(faults),
    )


def certain_view(source: str) -> CertainView:
    """What the compiler is sure to see, up to the names of doubtful macros."""
    prepared = prepare(source)
    doubtful = _decided_by_conditions(prepared.directives)
    names = frozenset(macro.name for macro in prepared.macros)
    if not doubtful:
        return CertainView(prepared.view, (), names)
    pieces, _ = _split_directives(tokenize(source)[0])
    kept = [piece for piece in pieces if isinstance(piece, Token) or _macro_name(piece) not in doubtful]
    macros = [
        [macro for macro in prepared.macros if (macro.name in doubtful) is side] for side in (False, True)
    ]
    text, _, _ = _expanded(kept, tuple(macros[0]), [])
    return CertainView(_plain_lambdas(text)[0], tuple(macros[1]), names)


def _decided_by_conditions(directives: tuple[Directive, ...]) -> frozenset[str]:
    """Macros that are defined or undefined between `#if` and `#endif`."""
    names, depth = set(), 0
    for directive in directives:
        depth += directive.name in ("if", "ifdef", "ifndef")
        depth -= directive.name == "endif"
        if depth:
            names.add(_macro_name(directive))
    return frozenset(names - {""})


def _macro_name(directive: Directive) -> str:
    """The macro that a `#define` or `#undef` speaks of; empty for other directives."""
    is_about_macro = directive.name in ("define", "undef") and bool(directive.tokens)
    return directive.tokens[0].text if is_about_macro else ""


def _split_directives(tokens: list[Token]) -> tuple[list[Token | Directive], list[Directive]]:
    """Code tokens and directives in order; conditions stay in the code as well, for the parser."""
    pieces: list[Token | Directive] = []
    directives: list[Directive] = []
    at, line_is_blank = 0, True
    while at < len(tokens):
        token = tokens[at]
        if line_is_blank and token.text == "#" and token.kind == "punct":
            end = at
            while end < len(tokens) and tokens[end].kind != "line":
                end += 1
            directive = _directive(tokens[at + 1 : end], token.line)
            directives.append(directive)
            pieces.append(directive)
            if directive.name in _CONDITIONS:
                pieces.extend(tokens[at:end])
            at = end
            continue
        line_is_blank = token.kind == "line" or (line_is_blank and token.kind == "space")
        pieces.append(token)
        at += 1
    return pieces, directives


def _directive(tokens: list[Token], line: int) -> Directive:
    significant = [token for token in tokens if token.kind != "space"]
    name = significant[0].text if significant and significant[0].kind == "name" else ""
    written = "".join(token.text for token in tokens).strip()
    return Directive(
        name=name,
        tokens=tuple(significant[1:] if name else significant),
        text=written[len(name) :].strip(),
        line=line,
    )


def read_macro(directive: Directive) -> Macro | None:
    """The macro of a `#define`; None for any other directive or one without a name."""
    if directive.name != "define" or not directive.tokens or directive.tokens[0].kind != "name":
        return None
    name, rest = directive.tokens[0].text, list(directive.tokens[1:])
    parameters: tuple[str, ...] | None = None
    if directive.text[len(name) : len(name) + 1] == "(":
        texts = [token.text for token in rest]
        end = texts.index(")") if ")" in texts else len(rest)
        words = [text for text in texts[1:end] if text != ","]
        parameters = tuple("__VA_ARGS__" if word == "..." else word for word in words)
        rest = rest[end + 1 :]
    return Macro(name=name, parameters=parameters, body=tuple(rest), line=directive.line)


def _expanded(
    pieces: list[Token | Directive], macros: tuple[Macro, ...], faults: list[Oddity]
) -> tuple[str, frozenset[str], tuple[Paste, ...]]:
    """The view, the macros used for it, and the names pasted under the last and the first definitions."""
    if not macros and not any(isinstance(p, Token) and p.text in _HEADER_PASTES for p in pieces):
        return _text([piece for piece in pieces if isinstance(piece, Token)]), frozenset(), ()
    names = [macro.name for macro in macros]
    ways = (False, True) if len(set(names)) < len(names) else (False,)
    views, used, pastes = [], set[str](), list[Paste]()
    for keep_first in ways:
        expander = Expander(table={name: _pasting(name) for name in _HEADER_PASTES})
        try:
            views.append(_text(_expand_all(pieces, expander, keep_first=keep_first)))
        except ExpansionLimit as limit:
            faults.append(Oddity("macro-expansion", limit.line))
            views.append(_text([piece for piece in pieces if isinstance(piece, Token)]))
        used |= expander.used
        pastes += expander.pastes
    return views[0], frozenset(used), tuple(dict.fromkeys(pastes))


def _expand_all(pieces: list[Token | Directive], expander: Expander, *, keep_first: bool) -> list[Token]:
    """Runs of code between directives, each under the definitions in force there."""
    output: list[Token] = []
    run: list[Token] = []
    for piece in pieces:
        if isinstance(piece, Token):
            run.append(piece)
        elif piece.name in ("define", "undef"):
            output += expander.expand(run)
            run = []
            _apply(piece, expander.table, keep_first=keep_first)
    return output + expander.expand(run)


def _apply(directive: Directive, table: dict[str, Macro], *, keep_first: bool) -> None:
    macro = read_macro(directive)
    if macro is not None and not (keep_first and macro.name in table):
        table[macro.name] = macro
    elif directive.name == "undef" and directive.tokens and not keep_first:
        table.pop(directive.tokens[0].text, None)


def _pasting(name: str) -> Macro:
    body = (Token("name", "a", 1), Token("punct", "##", 1), Token("name", "b", 1))
    return Macro(name=name, parameters=("a", "b"), body=body, line=1)


def _plain_lambdas(view: str) -> tuple[str, tuple[int, ...]]:
    """The parser's grammar has no `[] __device__ (...)`: the words are blanked and their places kept."""
    offsets = []
    for match in _LAMBDA_WORDS.finditer(view) if "__device__" in view else ():
        if "__device__" in match[0]:
            offsets.append(len(view[: match.end()].encode("utf-8", "replace")))
        view = view[: match.start()] + re.sub(r"\S", " ", match[0]) + view[match.end() :]
    return view, tuple(offsets)


def _text(tokens: list[Token]) -> str:
    return "".join([token.text for token in tokens])
