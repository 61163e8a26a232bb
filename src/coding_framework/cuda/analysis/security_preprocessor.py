"""Security rules on preprocessor lines, macros and spelling.

The tree rules run on the view with the source's macros expanded, so a name that a macro hides is found
there; here stand the lines themselves: includes, pragmas, definitions that change what other code
means, names that are pasted together, and spellings that only serve to hide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from coding_framework.cuda.analysis.code_index import CodeIndex
from coding_framework.cuda.analysis.findings import MAX_FINDINGS, security
from coding_framework.cuda.analysis.header_rules import include_finding
from coding_framework.cuda.analysis.macros import Macro
from coding_framework.cuda.analysis.name_rules import FORBIDDEN, FORBIDDEN_SURE, NAME_RULES
from coding_framework.cuda.analysis.prepared import Directive, PreparedSource
from coding_framework.cuda.analysis.tokens import Oddity, Token
from coding_framework.cuda.analysis.word_sets import words
from coding_framework.records import Finding, Severity

_PLAIN = "Write the code without it."
_ODDITIES: dict[str, tuple[Severity, str, str]] = {
    "trigraph": (
        "critical",
        "a trigraph stands for another character and can end a string or a line",
        _PLAIN,
    ),
    "digraph": ("warning", "a digraph such as `%:` hides what the line is", "Use the usual characters."),
    "escaped-name": ("critical", "a backslash in code spells a name with escapes", "Spell names out."),
    "split-name": ("warning", "a line continuation splits a word", "Keep every word on one line."),
    "raw-string": ("critical", "a raw string holds a line continuation, which hides where it ends", _PLAIN),
    "blank-continuation": (
        "critical",
        "a backslash and a blank end a line, which one compiler joins with the next and another does not",
        "Remove the blanks behind the backslash.",
    ),
    "invisible-character": ("warning", "an invisible character stands in the code", "Remove it."),
    "no-text": ("critical", "the source contains characters that are no text", "Hand in plain text."),
    "macro-expansion": ("critical", "its macros grow without end", "Use functions or templates."),
    "nesting": ("critical", "it is nested too deeply to be analysed", "Hand in simpler code."),
    "unparsable": ("critical", "it cannot be parsed in the time allowed", "Hand in well-formed CUDA."),
}
_KEYWORDS = words(
    "if else for while do switch case break continue return goto int float double char long short "
    "unsigned signed void const static extern volatile struct class union enum template typename "
    "namespace using sizeof new delete this operator public private auto throw try catch asm __asm__ "
    "__global__ __device__ __host__ __shared__ __constant__ __launch_bounds__ __syncthreads threadIdx "
    "blockIdx blockDim gridDim __restrict__ extern launch scratch defined PYBIND11_MODULE "
    "TORCH_EXTENSION_NAME forward"
)
"""What may not be redefined: keywords and the words of the contracts."""
_PROTECTED = re.compile(
    r"(?!cu(?:da)?(?:Check|Chk|Safe|Assert|Verify|Try|Err(?:or)?Ch(?:ec)?k))"
    r"(?:cuda[A-Z]\w*|cu[A-Z][a-z]\w*|clock_gettime|gettimeofday|__CUDA\w*__|NDEBUG_JUDGE)"
)
"""CUDA's own functions; nothing of it begins like the macros that everybody wraps its calls in."""
_PRAGMA_FINE = re.compile(
    r"unroll\b|nounroll\b|once\b|nv_|nvcc|diag_|hd_warning_disable|nv_exec_check_disable|pack\b|omp\s+simd"
    r"|GCC\s+(diagnostic|unroll|ivdep|optimize|push_options|pop_options)|clang\s+(diagnostic|loop)|ivdep|region"
    r"|endregion|warning\b|STDC\b|mark\b"
)
_PRAGMA_BAD = re.compile(
    r"weak\b|redefine_extname|GCC\s+(poison|dependency|system_header)|push_macro|pop_macro|init\b|fini\b"
    r"|section|alias|include_alias|comment\b.*linker"
)
_PASTE_PIECE_LETTERS = 3


def directive_findings(index: CodeIndex) -> Iterator[Finding]:
    """Findings on lines that begin with `#`, on how the source is spelt, and on what cannot be read."""
    prepared = index.prepared
    for kind, line in _first_of_each((*prepared.oddities, *index.faults)):
        severity, reason, suggestion = _ODDITIES[kind]
        yield security(kind, severity, line, f"{reason}.", suggestion)
    for directive in prepared.directives:
        yield from _directive(directive)
    for macro in prepared.macros:
        yield from _macro(macro)
    yield from _pastes(prepared)


def _first_of_each(oddities: Iterable[Oddity]) -> Iterator[Oddity]:
    """As many of a kind as can be told: there may be one on every line."""
    count: Counter[str] = Counter()
    for oddity in dict.fromkeys(oddities):
        count[oddity.kind] += 1
        if count[oddity.kind] <= MAX_FINDINGS:
            yield oddity


def _directive(directive: Directive) -> Iterator[Finding]:
    name, line = directive.name, directive.line
    if name in ("include", "include_next", "import"):
        yield from include_finding(name, directive.text, line)
    elif name == "embed":
        reason = "`#embed` copies a file of the machine into the program."
        yield security("include", "critical", line, reason, "Write the values into the source.")
    elif name == "line" or (name == "" and directive.tokens):
        reason = "`#line` moves the positions that messages speak of."
        yield security("line-directive", "critical", line, reason, "Remove the line.")
    elif name == "pragma":
        yield from pragma_finding(directive.text, line)
    elif name in ("if", "elif"):
        yield from _condition(directive)


def _condition(directive: Directive) -> Iterator[Finding]:
    """`__has_include` with a path asks which files the machine has."""
    text = directive.text
    if "__has_embed" in text:
        reason = "`__has_embed` asks which files the machine has."
        yield security("include-probe", "critical", directive.line, reason, "Remove it.")
    for match in re.finditer(r"__has_include(?:_next)?\s*\(\s*(.?)([^)>\"]*)", text):
        opening, path = match.groups()
        if opening not in '<"' or path.startswith(("/", "~", ".")) or ".." in path or "\\" in path:
            reason = "`__has_include` asks which files the machine has."
            suggestion = "Ask only for plain CUDA headers by name."
            yield security("include-probe", "critical", directive.line, reason, suggestion)


def pragma_finding(text: str, line: int) -> Iterator[Finding]:
    """For the words after `#pragma`, or in `_Pragma("...")`."""
    words = " ".join(text.split())
    if _PRAGMA_BAD.match(words):
        reason = f"`#pragma {words[:40]}` changes symbols, macros or start-up code behind the source."
        yield security("pragma", "critical", line, reason, "Remove the pragma.")
    elif not _PRAGMA_FINE.match(words):
        reason = f"`#pragma {words[:40]}` has no use in a kernel."
        yield security("pragma", "warning", line, reason, "Remove it; `#pragma unroll` is fine.")


def _macro(macro: Macro) -> Iterator[Finding]:
    if macro.name in _KEYWORDS or _PROTECTED.fullmatch(macro.name):
        reason = f"`#define {macro.name}` gives a word of the language, CUDA or the contract another meaning."
        yield security("redefined-word", "critical", macro.line, reason, "Choose a name of your own.")
    hidden = sorted({t.text for t in macro.body if t.kind == "name" and is_surely_forbidden(t.text)})
    if hidden:
        reason = f"the macro `{macro.name}` stands for `{hidden[0]}`, which a candidate may not use."
        yield security("macro-hides-name", "critical", macro.line, reason, f"Remove `{hidden[0]}`.")
    for at, token in enumerate(macro.body):
        if token.text == "_Pragma" and at + 2 < len(macro.body):
            yield from pragma_finding(macro.body[at + 2].text.strip('"'), macro.line)


def is_surely_forbidden(name: str) -> bool:
    if name in FORBIDDEN_SURE:
        return name not in ("asm", "__asm__", "__asm")
    return any(name.startswith(r.prefixes) for r in NAME_RULES if r.prefixes and r.severity == "critical")


def _pastes(prepared: PreparedSource) -> Iterator[Finding]:
    for text, line in prepared.pastes:
        if text in FORBIDDEN or is_surely_forbidden(text):
            reason = f"`##` pastes together the name `{text}`, which a candidate may not use."
            yield security("token-pasting", "critical", line, reason, f"Remove `{text}`.")
    for macro in prepared.macros:
        if macro.pastes and macro.name not in prepared.used_macros:
            yield _unused_paste(macro)


def _unused_paste(macro: Macro) -> Finding:
    """The result cannot be known; a piece that begins or ends a forbidden name makes it plain."""
    pieces = [token.text for token in _pastedwords(macro) if len(token.text) >= _PASTE_PIECE_LETTERS]
    bad = [p for p in pieces if any(n != p and (n.startswith(p) or n.endswith(p)) for n in FORBIDDEN_SURE)]
    if bad:
        reason = f"`{macro.name}` pastes `{bad[0]}` to something unknown, which can build a forbidden name."
        return security("token-pasting", "critical", macro.line, reason, "Write names out in full.")
    reason = f"`{macro.name}` pastes names that cannot be known from the source."
    return security("token-pasting", "warning", macro.line, reason, "Write names out in full.")


def _pastedwords(macro: Macro) -> list[Token]:
    """Words beside a `##` that are no parameters."""
    body, parameters = macro.body, macro.parameters or ()
    beside = {at + step for at, token in enumerate(body) if token.text == "##" for step in (-1, 1)}
    return [t for at, t in enumerate(body) if at in beside and t.kind == "name" and t.text not in parameters]
