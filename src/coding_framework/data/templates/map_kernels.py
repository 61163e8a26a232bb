"""Element-wise kernels for synthetic tasks: naive in a few styles, and vectorised.

Every kernel is short, launches itself by name and works for every size. They are right only as far
as the tests and the judge say so: no pair is used unjudged.
"""

from __future__ import annotations

from coding_framework.data.templates.formula import Formula
from coding_framework.data.templates.signature import Signature, Style, element_names, join_lines


def vector_kernel(signature: Signature, formula: Formula, style: Style) -> str:
    """One thread an element, with a guard or a grid-stride loop."""
    i, n = style.index, signature.dimensions[0]
    grid = f"ceil_div({n}, {style.block})"
    assignment = (
        f"{signature.output}[{i}] = {formula.render('cuda', [f'{name}[{i}]' for name in signature.inputs])};"
    )
    first = f"int {i} = blockIdx.x * blockDim.x + threadIdx.x"
    if style.grid_stride:
        grid = f"min({grid}, 1024)"
        body = [f"    for ({first}; {i} < {n}; {i} += gridDim.x * blockDim.x) {{"]
    else:
        body = [f"    {first};", f"    if ({i} < {n}) {{"]
    return join_lines(
        signature.launch(grid, str(style.block)),
        signature.declaration(style),
        *body,
        f"        {assignment}",
        "    }",
        "}",
    )


def vectorized_kernel(signature: Signature, formula: Formula, style: Style) -> str:
    """Four elements a thread through 16-byte loads; the last ones one by one."""
    n, output = signature.dimensions[0], signature.output
    loads = [
        f"        float4 {name}4 = *reinterpret_cast<const float4*>({name} + i);" for name in signature.inputs
    ]
    lanes = [formula.render("cuda", [f"{name}4.{lane}" for name in signature.inputs]) for lane in "xyzw"]
    results = [f"        {output}4.{lane} = {text};" for lane, text in zip("xyzw", lanes, strict=True)]
    single = formula.render("cuda", [f"{name}[i]" for name in signature.inputs])
    return join_lines(
        signature.launch(f"ceil_div({n}, {4 * style.block})", str(style.block)),
        signature.declaration(style),
        "    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);",
        f"    if (i + 3 < {n}) {{",
        *loads,
        f"        float4 {output}4;",
        *results,
        f"        *reinterpret_cast<float4*>({output} + i) = {output}4;",
        "    } else {",
        f"        for (; i < {n}; ++i) {output}[i] = {single};",
        "    }",
        "}",
    )


def broadcast_kernel(signature: Signature, formula: Formula, style: Style) -> str:
    """One thread an element of a matrix; vectors are indexed by its row or its column."""
    rows, cols = signature.dimensions
    if style.two_dimensional:
        return _broadcast_2d(signature, formula, style)
    i = style.index
    lines = [f"    int {i} = blockIdx.x * blockDim.x + threadIdx.x;", f"    if ({i} < {rows} * {cols}) {{"]
    layouts = set(signature.inputs.values())
    if "per_row" in layouts:
        lines.append(f"        int r = {i} / {cols};")
    if "per_column" in layouts:
        lines.append(f"        int c = {i} % {cols};")
    value = formula.render("cuda", element_names(signature, i))
    return join_lines(
        signature.launch(f"ceil_div({rows} * {cols}, {style.block})", str(style.block)),
        signature.declaration(style),
        *lines,
        f"        {signature.output}[{i}] = {value};",
        "    }",
        "}",
    )


def _broadcast_2d(signature: Signature, formula: Formula, style: Style) -> str:
    rows, cols = signature.dimensions
    place = f"r * {cols} + c"
    return join_lines(
        signature.launch(f"ceil_div({cols}, 16), ceil_div({rows}, 16)", "16, 16"),
        signature.declaration(style),
        "    int c = blockIdx.x * blockDim.x + threadIdx.x;",
        "    int r = blockIdx.y * blockDim.y + threadIdx.y;",
        f"    if (r < {rows} && c < {cols}) {{",
        f"        {signature.output}[{place}] = {formula.render('cuda', element_names(signature, place))};",
        "    }",
        "}",
    )
