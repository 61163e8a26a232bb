"""HTML and SVG by construction: text is escaped unless it already is `Html`, which only `tag` makes.

A report shows what a model wrote, and a model may write `</pre><script>`. Nobody here pastes strings
together: every child and every attribute passes through `tag`, which escapes plain `str`. Characters
that could make text look like something else (control characters, bidirectional overrides) are shown
as a replacement sign.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_VOID = frozenset({"br", "hr", "line", "rect", "path"})
_INVISIBLE = {
    code: "\ufffd"
    for code in (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}


class Html(str):
    """Markup that is safe to insert as it is."""

    __slots__ = ()


def text(value: str) -> Html:
    """Any string as visible characters."""
    return value if isinstance(value, Html) else Html(html.escape(value.translate(_INVISIBLE), quote=True))


def join(parts: Iterable[str]) -> Html:
    return Html("".join(text(part) for part in parts))


def tag(name: str, *children: str | None, **attributes: str | float | None) -> Html:
    """One element; `class_` is the attribute `class`, `stroke_width` is `stroke-width`.

    Attributes and children that are None are left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Html(f"<{name}{given}>" if name in ("br", "hr") else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{join(child for child in children if child is not None)}</{name}>")


def _number(value: str | float) -> str:
    """Coordinates with two decimals: a hundredth of a pixel, and half the size of the file."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


_TOKENS = re.compile(
    r"""(?P<plan>//[ \t]*(?:launch|scratch):[^\n]*)
      | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<directive>^[ \t]*\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
      | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)[fFuUlL]*)
      | (?P<word>[A-Za-z_]\w*)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_KEYWORDS = re.compile(
    "alignas|auto|bool|break|case|char|class|const|constexpr|continue|default|do|double|else|enum|extern|"
    "false|float[24]?|for|goto|half|if|inline|int[24]?|long|namespace|return|short|signed|sizeof|size_t|"
    "static|static_cast|struct|switch|template|true|typedef|typename|uint32_t|unsigned|using|void|volatile|"
    "while|__(?:constant|device|forceinline|global|host|launch_bounds|restrict|shared)__|__half"
)
_BUILTINS = re.compile("threadIdx|blockIdx|blockDim|gridDim|warpSize|__.*")


def highlight_cuda(source: str) -> Html:
    """CUDA C++ with its tokens in classed spans; what is not recognised stays plain text."""
    parts: list[Html] = []
    end = 0
    for match in _TOKENS.finditer(source):
        parts.append(text(source[end : match.start()]))
        parts.append(_token(match))
        end = match.end()
    return join([*parts, text(source[end:])])


def _token(match: re.Match[str]) -> Html:
    kind, value = str(match.lastgroup), match.group()
    if kind == "word":
        known = ((_KEYWORDS, "keyword"), (_BUILTINS, "builtin"))
        kind = next((name for pattern, name in known if pattern.fullmatch(value)), "")
    return tag("span", value, class_=f"t-{kind}") if kind else text(value)
