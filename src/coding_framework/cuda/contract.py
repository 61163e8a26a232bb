"""The `kernel` contract: read the launch plan out of a candidate's comments.

    // scratch: partial float32[ceil_div(n, 256)]
    // launch: block_sum grid=(ceil_div(n, 256)) block=(256) shared=1024 args=(x, partial, n)

Guarantees: nothing is evaluated by Python; every complaint quotes the line and says what is
expected; the plan's size is bounded before anything is allocated; reading it takes time linear in the
source's length. Expressions are over the task's dimensions and the integer constants of the source, which are
numbers in the plan that comes out. Of the C++ it looks at those and at the names of the kernels, no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from coding_framework.cuda.analysis.source_constants import SourceConstants
from coding_framework.cuda.executors.base import BufferArgument, ResolvedLaunch, Triple
from coding_framework.cuda.plan_constants import constant_words, with_constants
from coding_framework.cuda.plan_lines import FIELD, MAX_LAUNCHES, ContractViolation, plan_lines, unmarked_line
from coding_framework.cuda.toolchain.source_scan import without_comments
from coding_framework.errors import ExpressionError
from coding_framework.records import Expression, Launch, LaunchPlan, ScratchBuffer, Task, parse_expression

__all__ = [
    "EXAMPLE",
    "MAX_LAUNCHES",
    "MAX_SCRATCH_BYTES",
    "ContractViolation",
    "buffer_names",
    "kernel_names",
    "numpy_dtype",
    "parse_launch_plan",
    "resolve_launches",
    "resolve_scratch",
    "scratch_limit_bytes",
]

MAX_SCRATCH_BYTES = 2**30
"""However large the task is."""
_FREE_SCRATCH_BYTES = 64 * 2**20
_SCRATCH_FACTOR = 16
EXAMPLE = "// launch: my_kernel grid=(ceil_div(n, 256)) block=(256) args=(x, y, n)"

_SCRATCH = re.compile(r"([A-Za-z_]\w*+)\s++(float32|float16|bfloat16|int32|float|half|int)\s*+\[(.*)\]$")
_BOUNDS = r"(?:__(?:launch_bounds|cluster_dims|maxnreg|block_size)__\s*+\([^;{}]{0,200}?\)\s*+){0,3}"
_KERNEL = re.compile(rf"(?:__global__\s++{_BOUNDS}void|\bvoid\s++{_BOUNDS}__global__)\s++{_BOUNDS}(\w++)")
_MAX_NAMES_SHOWN = 10
_DTYPES = {"float": "float32", "half": "float16", "int": "int32"}


def parse_launch_plan(source: str, task: Task) -> LaunchPlan:
    """The plan that `source` states, checked against the task; raises `ContractViolation`."""
    kernels = kernel_names(source)
    if not kernels:
        raise ContractViolation(
            "there is no `__global__` function in the source; expected "
            f'extern "C" __global__ void {task.name}(...)'
        )
    launches: list[Launch] = []
    scratch: list[ScratchBuffer] = []
    for line in plan_lines(source):
        if line.kind == "launch":
            launches.append(_parse_launch(line.text, line.number, kernels, task))
        else:
            scratch.append(_parse_scratch(line.text, line.number, task))
    if not launches:
        _fail_without_plan(source)
    plan = LaunchPlan(launches=tuple(launches), scratch=tuple(scratch))
    plan, constants = with_constants(
        plan, source, dimensions=frozenset(task.dimensions), buffers=buffer_names(plan, task)
    )
    _check_names(plan, task, constants)
    return plan


def kernel_names(source: str) -> tuple[str, ...]:
    """Names of the `__global__` functions, comments left out."""
    return tuple(dict.fromkeys(_KERNEL.findall(without_comments(source))))


def resolve_launches(
    plan: LaunchPlan, task: Task, dimensions: Mapping[str, int]
) -> tuple[ResolvedLaunch, ...]:
    """Every expression of the plan evaluated for one shape."""
    buffers = buffer_names(plan, task)
    return tuple(_resolve(launch, buffers, dimensions) for launch in plan.launches)


def resolve_scratch(
    plan: LaunchPlan, task: Task, dimensions: Mapping[str, int]
) -> dict[str, tuple[str, int]]:
    """Element type and count of every scratch buffer for one shape."""
    sizes: dict[str, tuple[str, int]] = {}
    total, limit = 0, scratch_limit_bytes(task, dimensions)
    for buffer in plan.scratch:
        count = _value(buffer.num_elements, dimensions, buffer.line)
        if count < 1:
            raise ContractViolation(
                f"line {buffer.line}: scratch `{buffer.name}` has {count} elements for {_shape(dimensions)}",
                buffer.line,
            )
        total += count * numpy_dtype(buffer.dtype).itemsize
        if total > limit:
            raise ContractViolation(
                f"line {buffer.line}: scratch memory exceeds {limit >> 20} MiB for {_shape(dimensions)}",
                buffer.line,
            )
        sizes[buffer.name] = (buffer.dtype, count)
    return sizes


def scratch_limit_bytes(task: Task, dimensions: Mapping[str, int]) -> int:
    """A multiple of what the task itself moves: every byte of it is filled anew for each run."""
    own = sum(
        spec.num_elements(dimensions) * numpy_dtype(spec.dtype).itemsize
        for spec in (*task.inputs, *task.outputs)
    )
    return min(MAX_SCRATCH_BYTES, _FREE_SCRATCH_BYTES + _SCRATCH_FACTOR * own)


def buffer_names(plan: LaunchPlan, task: Task) -> frozenset[str]:
    """Everything that `args` may name as a pointer."""
    specs = (*task.inputs, *task.outputs)
    return frozenset([spec.name for spec in specs] + [buffer.name for buffer in plan.scratch])


def _fail_without_plan(source: str) -> NoReturn:
    line = unmarked_line(source)
    if line is None:
        raise ContractViolation(f"there is no launch plan; expected a comment line such as  {EXAMPLE}")
    raise ContractViolation(
        f"line {line}: there is no launch plan: its lines must be `//` comments, not part of a `/* */` "
        f"comment; expected a line such as  {EXAMPLE}",
        line,
    )


def _parse_launch(text: str, number: int, kernels: tuple[str, ...], task: Task) -> Launch:
    name, fields = _split_fields(text, number)
    if not name:
        if len(kernels) > 1:
            _fail(number, text, f"name the kernel to launch, one of: {_list(kernels)}")
        name = kernels[0]
    if name not in kernels:
        _fail(number, text, f"there is no __global__ function `{name}`; the source has: {_list(kernels)}")
    for required in ("grid", "block"):
        if required not in fields:
            _fail(number, text, f"`{required}=(...)` is missing")
    arguments = fields.get("args")
    names = _items(arguments, number, text) if arguments is not None else list(task.default_arguments)
    return Launch(
        kernel=name,
        grid=_triple(fields["grid"], number, text, "grid"),
        block=_triple(fields["block"], number, text, "block"),
        shared_bytes=_expression(fields.get("shared", "0"), number, text),
        arguments=tuple(_expression(item, number, text) for item in names),
        line=number,
        text=text,
    )


def _split_fields(text: str, number: int) -> tuple[str, dict[str, str]]:
    """The kernel's name and the text after each `field=`."""
    pieces = FIELD.split(text)
    name = pieces[0].strip().rstrip(",:").rstrip()
    if name and not re.fullmatch(r"[A-Za-z_]\w*", name):
        _fail(number, text, f"`{name}` is not a kernel's name")
    fields: dict[str, str] = {}
    for key, value in zip(pieces[1::2], pieces[2::2], strict=True):
        if key.lower() in fields:
            _fail(number, text, f"`{key}=` is given twice")
        fields[key.lower()] = value.strip().rstrip(",;").strip()
    return name, fields


def _triple(value: str, number: int, text: str, field: str) -> tuple[Expression, Expression, Expression]:
    items = _items(re.sub(r"^dim3\s*+(?=\()", "", value), number, text)
    if not 1 <= len(items) <= 3:
        _fail(number, text, f"`{field}` has {len(items)} extents; expected 1 to 3")
    x, y, z = (_expression(item, number, text) for item in (*items, "1", "1")[:3])
    return x, y, z


def _items(value: str, number: int, text: str) -> list[str]:
    """Split at top-level commas, with or without the enclosing parentheses."""
    inner = value[1:-1] if _is_enclosed(value) else value
    items, depth, start = [], 0, 0
    for at, char in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            break
        if char == "," and depth == 0:
            items.append(inner[start:at].strip())
            start = at + 1
    if depth != 0:
        _fail(number, text, f"the parentheses of `{value}` do not match")
    items.append(inner[start:].strip())
    if items[-1] == "" and len(items) > 1:
        items.pop()
    return items


def _is_enclosed(value: str) -> bool:
    """Whether the first parenthesis closes at the very end."""
    if not (value.startswith("(") and value.endswith(")")):
        return False
    depth = 0
    for at, char in enumerate(value):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0:
            return at == len(value) - 1
    return False


def _parse_scratch(text: str, number: int, task: Task) -> ScratchBuffer:
    match = _SCRATCH.match(text)
    if match is None:
        raise ContractViolation(
            f"line {number}: `// scratch: {text}` does not parse; expected  "
            "// scratch: NAME float32[NUMBER OF ELEMENTS]",
            number,
        )
    name, dtype, count = match.groups()
    return ScratchBuffer.model_validate(
        {
            "name": name,
            "dtype": _DTYPES.get(dtype, dtype),
            "num_elements": _expression(count, number, text, directive="scratch"),
            "line": number,
        }
    )


def _check_names(plan: LaunchPlan, task: Task, constants: SourceConstants) -> None:
    names = [*task.default_arguments, *(buffer.name for buffer in plan.scratch)]
    for buffer in plan.scratch:
        if names.count(buffer.name) > 1:
            raise ContractViolation(
                f"line {buffer.line}: the name `{buffer.name}` of the scratch buffer is taken", buffer.line
            )
    buffers = buffer_names(plan, task)
    listed = f"buffers: {_list(tuple(sorted(buffers)))}; dimensions: {', '.join(task.dimensions)}"
    for launch in plan.launches:
        values = [argument for argument in launch.arguments if argument.text not in buffers]
        for expression in (*launch.grid, *launch.block, launch.shared_bytes, *values):
            for name in sorted(expression.names - set(task.dimensions)):
                words = f"`{name}` is neither a buffer nor a dimension here; {listed}"
                _fail(launch.line, launch.text, words + constant_words(constants, name))
    for buffer in plan.scratch:
        for name in sorted(buffer.num_elements.names - set(task.dimensions)):
            words = f"`{name}` in the size of scratch `{buffer.name}` is no dimension here; {listed}"
            words += constant_words(constants, name)
            raise ContractViolation(f"line {buffer.line}: {words}", buffer.line)


def _resolve(launch: Launch, buffers: frozenset[str], dimensions: Mapping[str, int]) -> ResolvedLaunch:
    arguments: list[BufferArgument | int] = []
    for argument in launch.arguments:
        if argument.text in buffers:
            arguments.append(BufferArgument(argument.text))
        else:
            arguments.append(_value(argument, dimensions, launch.line))
    return ResolvedLaunch(
        kernel=launch.kernel,
        grid=_extents(launch.grid, dimensions, launch.line),
        block=_extents(launch.block, dimensions, launch.line),
        shared_bytes=_value(launch.shared_bytes, dimensions, launch.line),
        arguments=tuple(arguments),
    )


def _extents(expressions: tuple[Expression, ...], dimensions: Mapping[str, int], line: int) -> Triple:
    x, y, z = (_value(expression, dimensions, line) for expression in expressions)
    return x, y, z


def _value(expression: Expression, dimensions: Mapping[str, int], line: int) -> int:
    try:
        return expression.evaluate(dimensions)
    except ExpressionError as error:
        raise ContractViolation(f"line {line}: {error}", line) from None


def _expression(value: str, number: int, text: str, *, directive: str = "launch") -> Expression:
    try:
        return parse_expression(value)
    except ExpressionError as error:
        _fail(number, text, str(error), directive=directive)


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(name[:80] for name in names[:_MAX_NAMES_SHOWN])
    return shown if len(names) <= _MAX_NAMES_SHOWN else f"{shown} and {len(names) - _MAX_NAMES_SHOWN} more"


def _shape(dimensions: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in dimensions.items())


def _fail(number: int, text: str, reason: str, *, directive: str = "launch") -> NoReturn:
    message = f"line {number}: `// {directive}: {text}`: {reason}"
    if directive == "launch":
        message += f". Expected e.g.  {EXAMPLE}"
    raise ContractViolation(message, number)


def numpy_dtype(dtype: str) -> np.dtype[np.generic]:
    """How an element type is held in host memory; bfloat16 as its 16 bits."""
    return np.dtype({"bfloat16": "uint16"}.get(dtype, dtype))
