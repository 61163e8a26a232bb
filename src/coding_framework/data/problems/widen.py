"""A float32 kernel rewritten to compute in float64, so that it can be its own oracle.

Every `float` becomes `double`, with its vectors, literals and functions. What cannot be said in double
(bit tricks on floats, say) does not compile afterwards, or disagrees with the kernel it was made from;
both are for the caller to find out, and neither is hidden here.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
      (?P<skip>   //[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
                | ^[ \t]*\#[ \t]*include[^\n]* )
    | (?P<number> (?<![\w.])
                  (?: \d+\.\d*(?:[eE][+-]?\d+)? | \.\d+(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ ) [fF]\b )
    | (?P<word>   [A-Za-z_]\w* )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_FUNCTIONS = (
    *("sqrt", "rsqrt", "cbrt", "rcbrt", "hypot", "rhypot", "pow", "exp", "exp2", "exp10", "expm1"),
    *("log", "log2", "log10", "log1p", "sin", "cos", "tan", "sincos", "sinpi", "cospi", "asin", "acos"),
    *("atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fabs", "fmax", "fmin", "fmod"),
    *("fma", "fdim", "floor", "ceil", "round", "rint", "trunc", "nearbyint", "erf", "erfc", "erfinv"),
    *("erfcinv", "erfcx", "tgamma", "lgamma", "copysign", "ldexp", "remainder", "normcdf", "normcdfinv"),
)
_INTRINSICS = {
    "__expf": "exp",
    "__exp10f": "exp10",
    "__logf": "log",
    "__log2f": "log2",
    "__log10f": "log10",
    "__sinf": "sin",
    "__cosf": "cos",
    "__tanf": "tan",
    "__powf": "pow",
    "__tanhf": "tanh",
    "__fdividef": "__ddiv_rn",
    "__fdiv_rn": "__ddiv_rn",
    "__fadd_rn": "__dadd_rn",
    "__fsub_rn": "__dsub_rn",
    "__fmul_rn": "__dmul_rn",
    "__fmaf_rn": "__fma_rn",
    "__frcp_rn": "__drcp_rn",
    "__fsqrt_rn": "__dsqrt_rn",
    "__frsqrt_rn": "rsqrt",
}
_WORDS = {
    "float": "double",
    **{f"float{n}": f"double{n}" for n in (1, 2, 3, 4)},
    **{f"make_float{n}": f"make_double{n}" for n in (1, 2, 3, 4)},
    **{f"{name}f": name for name in _FUNCTIONS},
    **_INTRINSICS,
}


def widened(source: str) -> str:
    """The same kernel in double precision; comments and includes stay as they are."""
    return _TOKEN.sub(_wide_token, source)


def _wide_token(match: re.Match[str]) -> str:
    if match["number"] is not None:
        return match["number"][:-1]
    if match["word"] is not None:
        return _WORDS.get(match["word"], match["word"])
    return match[0]
