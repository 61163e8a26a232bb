"""The header of a user's problem: comment lines that say what the naive kernel below them computes.

    // problem: row_variance
    // say: The variance of each row of x.
    // dims: rows=4096 cols=1024
    // input: x float32[rows, cols]
    // output: y float32[rows]

Optional: `// tolerance: RELATIVE ABSOLUTE`, `// values: normal uniform …` (how inputs are drawn) and
`// operations: EXPRESSION`. Guarantees: a header that parses names every array once, every extent is an
expression over the dimensions, and whatever is wrong is said with the line and an example.
"""

from __future__ import annotations

import re
from typing import NoReturn, get_args

from pydantic import Field, ValidationError

from coding_framework.errors import ExpressionError, UserError
from coding_framework.records import Distribution, DType, Record, TensorSpec, Tolerance, parse_expression
from coding_framework.records.expression import ExpressionField

EXAMPLE = """\
// problem: scale_add
// say: y[i] = 2 * x[i] + 1
// dims: n=1048576
// input: x float32[n]
// output: y float32[n]
// launch: scale_add grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void scale_add(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
"""
_LINE = re.compile(r"\s*//+\s*(problem|say|dims|input|output|tolerance|values|operations)\s*:\s*(.*?)\s*$")
_ARRAY = re.compile(r"([A-Za-z_]\w*)\s+(\w+)\s*\[(.*)\]")
_DIM = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\d[\d_']*)")
_NAME = re.compile(r"[A-Za-z]\w{0,63}")
_DTYPES = {"float": "float32", "half": "float16", "int": "int32", **{name: name for name in get_args(DType)}}
DEFAULT_VALUES: tuple[Distribution, ...] = ("normal", "uniform", "integers")
_ONCE = ("problem", "dims", "tolerance", "values", "operations")


class ProblemHeader(Record):
    """What the header says."""

    name: str
    """Of the problem; file names and tables use it."""
    words: str
    """The problem in words for the model; may be empty."""
    dimensions: dict[str, int] = Field(min_length=1)
    """Sizes at which the user wants it fast, in the order in which kernels receive them."""
    inputs: tuple[TensorSpec, ...] = Field(min_length=1)
    """Arrays that are read."""
    outputs: tuple[TensorSpec, ...] = Field(min_length=1)
    """Arrays that are written."""
    tolerance: Tolerance | None = None
    """The error budget; None: from the naive kernel's own rounding errors."""
    distributions: tuple[Distribution, ...] = DEFAULT_VALUES
    """How inputs are drawn."""
    operations: ExpressionField | None = None
    """Arithmetic operations, for the speed-of-light floor; None: one for each output element."""


class HeaderError(UserError):
    """A problem file whose header is missing or wrong; the message shows an example."""


def parse_header(source: str, where: str = "the file") -> ProblemHeader:
    """The header of a problem file; raises `HeaderError`."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(source.splitlines(), start=1):
        match = _LINE.match(line)
        if match is not None:
            found.setdefault(match[1], []).append((number, match[2]))
    for key in ("problem", "dims", "input", "output"):
        if key not in found:
            _fail(where, f"it has no line `// {key}: …`")
    for key in _ONCE:
        if len(found.get(key, ())) > 1:
            _fail(where, f"line {found[key][1][0]}: `// {key}:` is given twice")
    try:
        return ProblemHeader(
            name=_name(where, *found["problem"][0]),
            words=" ".join(text for _, text in found.get("say", ())),
            dimensions=_dimensions(where, *found["dims"][0]),
            inputs=tuple(_array(where, *line) for line in found["input"]),
            outputs=tuple(_array(where, *line) for line in found["output"]),
            tolerance=_tolerance(where, *found["tolerance"][0]) if "tolerance" in found else None,
            distributions=_values(where, *found["values"][0]) if "values" in found else DEFAULT_VALUES,
            operations=parse_expression(found["operations"][0][1]) if "operations" in found else None,
        )
    except (ValidationError, ExpressionError) as error:
        _fail(where, str(error))


def _name(where: str, line: int, text: str) -> str:
    if not _NAME.fullmatch(text):
        _fail(where, f"line {line}: {text!r} is no name: letters, digits and _ only")
    return text


def _dimensions(where: str, line: int, text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for item in re.split(r"[\s,]+(?=[A-Za-z_])", text):
        match = _DIM.fullmatch(item.strip(" ,"))
        if match is None:
            _fail(where, f"line {line}: {item!r} is no dimension; write NAME=SIZE, e.g. n=1048576")
        sizes[match[1]] = int(re.sub("[_']", "", match[2]))
    if any(size < 1 for size in sizes.values()):
        _fail(where, f"line {line}: every dimension must be at least 1")
    return sizes


def _array(where: str, line: int, text: str) -> TensorSpec:
    match = _ARRAY.fullmatch(text)
    if match is None or match[2] not in _DTYPES:
        types = ", ".join(get_args(DType))
        _fail(where, f"line {line}: {text!r} is no array; write NAME TYPE[EXTENT, …] with a type of {types}")
    shape = [part.strip() for part in match[3].split(",")]
    return TensorSpec.model_validate({"name": match[1], "shape": shape, "dtype": _DTYPES[match[2]]})


def _tolerance(where: str, line: int, text: str) -> Tolerance:
    try:
        relative, absolute = (float(word) for word in text.split())
    except ValueError:
        _fail(where, f"line {line}: {text!r} is no tolerance; write RELATIVE ABSOLUTE, e.g. 1e-4 1e-5")
    return Tolerance(relative=relative, absolute=absolute)


def _values(where: str, line: int, text: str) -> tuple[Distribution, ...]:
    known: list[Distribution] = [kind for kind in get_args(Distribution) if kind != "mixed"]
    words = re.split(r"[\s,]+", text)
    if not set(words) <= set(known):
        _fail(where, f"line {line}: inputs cannot be drawn as {text!r}; choose from {', '.join(known)}")
    return tuple(kind for kind in known if kind in words)


def _fail(where: str, reason: str) -> NoReturn:
    raise HeaderError(
        f"{where} is not a problem yet: {reason}. A problem is a naive kernel under a few lines that say "
        f"what it computes, for example:\n\n{EXAMPLE}"
    )
