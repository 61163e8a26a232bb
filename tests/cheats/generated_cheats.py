"""Cheats that are made and not kept as files: too long, too deep, or no text at all."""

from __future__ import annotations

from collections.abc import Callable

HEAD = "// launch: vector_add grid=(ceil_div(n, 256)) block=(256)\n"
OPENING = """extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
"""
KERNEL = OPENING + "    if (i < n) y[i] = a[i] + b[i];\n}\n"
LONG = 30_000
"""A seventh of what a source may hold: enough to tell a scan in linear time from one that is not."""


def many_launches() -> str:
    return HEAD * 65 + KERNEL


def long_source() -> str:
    return HEAD + KERNEL + "// " + "x" * 300_000


def deep_parentheses() -> str:
    deep = "(" * 20_000 + "a[i]" + ")" * 20_000
    return HEAD + OPENING + f"    if (i < n) y[i] = {deep} + b[i];\n}}\n"


def deep_blocks() -> str:
    return HEAD + OPENING + "{" * 10_000 + "if (i < n) y[i] = a[i] + b[i];" + "}" * 10_000 + "}\n"


def nul_byte() -> str:
    return HEAD + KERNEL + "\0" + KERNEL.replace("a[i] + b[i]", "0.0f")


def bidirectional_text() -> str:
    """What an editor shows as a comment beside a guard is code in front of none."""
    trick = "    /*\u202e } \u2066 if (i < n) \u2069 \u2066 right result */\n    if (i < n) y[i] = a[i];\n"
    return HEAD + OPENING + trick + "    /* and the rest \u202e { \u2066*/\n}\n"


def lone_surrogate() -> str:
    return HEAD + "// \ud800\n" + KERNEL


def spaces_in_the_plan() -> str:
    return HEAD.replace(" grid", " " * 800 + "x grid") + KERNEL


def open_comments() -> str:
    return HEAD + KERNEL + "/* " * (LONG // 3)


def open_raw_strings() -> str:
    return HEAD + KERNEL + 'R"(' * (LONG // 3)


def escaped_quotes() -> str:
    return HEAD + KERNEL + '"' + '\\"' * (LONG // 2)


def open_launch_bounds() -> str:
    return HEAD + KERNEL + "__global__ __launch_bounds__(" * (LONG // 29)


GENERATED: dict[str, Callable[[], str]] = {
    made.__name__: made
    for made in (
        many_launches,
        long_source,
        deep_parentheses,
        deep_blocks,
        nul_byte,
        bidirectional_text,
        lone_surrogate,
        spaces_in_the_plan,
        open_comments,
        open_raw_strings,
        escaped_quotes,
        open_launch_bounds,
    )
}
