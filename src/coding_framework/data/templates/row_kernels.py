"""Kernels that reduce the rows of a matrix: one thread a row, or one warp a row.

As for the element-wise ones, no pair is used unjudged.
"""

from __future__ import annotations

from coding_framework.data.templates.formula import Formula
from coding_framework.data.templates.operations import Reducer
from coding_framework.data.templates.signature import Signature, Style, element_names, join_lines


def row_kernel(signature: Signature, element: Formula, reducer: Reducer, root: bool, style: Style) -> str:
    """One thread a row."""
    rows, cols = signature.dimensions
    total = style.accumulator
    initial = "0.0f" if reducer in ("sum", "mean") else _element(signature, element, f"r * {cols}")
    start = "0" if reducer in ("sum", "mean") else "1"
    return join_lines(
        signature.launch(f"ceil_div({rows}, {style.block})", str(style.block)),
        signature.declaration(style),
        "    int r = blockIdx.x * blockDim.x + threadIdx.x;",
        f"    if (r < {rows}) {{",
        f"        float {total} = {initial};",
        f"        for (int c = {start}; c < {cols}; ++c) {{",
        f"            {_combine(reducer, total, _element(signature, element, f'r * {cols} + c'))}",
        "        }",
        f"        {signature.output}[r] = {_finish(reducer, root, total, cols)};",
        "    }",
        "}",
    )


def warp_row_kernel(
    signature: Signature, element: Formula, reducer: Reducer, root: bool, style: Style
) -> str:
    """One warp a row, so that loads are coalesced; lanes combine through shuffles."""
    rows, cols = signature.dimensions
    total = style.accumulator
    initial = "0.0f" if reducer in ("sum", "mean") else _element(signature, element, f"r * {cols}")
    shuffled = f"__shfl_xor_sync(0xffffffff, {total}, offset)"
    return join_lines(
        signature.launch(f"ceil_div({rows}, 4)", "128"),
        signature.declaration(style),
        "    int lane = threadIdx.x % 32;",
        "    int r = blockIdx.x * 4 + threadIdx.x / 32;",
        f"    if (r < {rows}) {{",
        f"        float {total} = {initial};",
        f"        for (int c = lane; c < {cols}; c += 32) {{",
        f"            {_combine(reducer, total, _element(signature, element, f'r * {cols} + c'))}",
        "        }",
        "        for (int offset = 16; offset > 0; offset /= 2) {",
        f"            {_combine(reducer, total, shuffled)}",
        "        }",
        f"        if (lane == 0) {signature.output}[r] = {_finish(reducer, root, total, cols)};",
        "    }",
        "}",
    )


def _element(signature: Signature, element: Formula, place: str) -> str:
    return element.render("cuda", element_names(signature, place))


def _combine(reducer: Reducer, total: str, value: str) -> str:
    """The statement that takes one more value in."""
    if reducer in ("sum", "mean"):
        return f"{total} += {value};"
    return f"{total} = f{reducer}f({total}, {value});"


def _finish(reducer: Reducer, root: bool, total: str, cols: str) -> str:
    """The value that is written at the end."""
    value = f"{total} / {cols}" if reducer == "mean" else total
    return f"sqrtf({value})" if root else value
