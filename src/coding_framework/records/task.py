"""A task: what to compute, on which shapes, how right it must be, and what it costs at the least."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import ModuleType
from typing import Any, Literal

from pydantic import Field, model_validator

from coding_framework.records.base import Record
from coding_framework.records.expression import ExpressionField

DType = Literal["float32", "float16", "bfloat16", "int32"]
Distribution = Literal[
    "normal",
    "uniform",
    "large",
    "small",
    "integers",
    "constant_rows",
    "outliers",
    "far_below",
    "far_above",
    "mixed",
]
Dimensions = Mapping[str, int]
Oracle = Callable[[ModuleType, Mapping[str, Any], Dimensions], Mapping[str, Any]]
"""`oracle(xp, inputs, dimensions) -> outputs`: written once against the array API, run in float64."""


class TensorSpec(Record):
    """One named array of a task."""

    name: str
    """The name that prompts, launch plans and oracles use."""
    shape: tuple[ExpressionField, ...]
    """Row-major extents, as expressions over the task's dimensions."""
    dtype: DType = "float32"
    """Element type in the candidate's memory."""

    def extents(self, dimensions: Dimensions) -> tuple[int, ...]:
        return tuple(extent.evaluate(dimensions) for extent in self.shape)

    def num_elements(self, dimensions: Dimensions) -> int:
        return prod(self.extents(dimensions))


class Tolerance(Record):
    """Error budget against the float64 oracle: |got - want| <= absolute + relative * |want|."""

    relative: float = Field(default=1e-4, ge=0)
    """Share of the expected magnitude."""
    absolute: float = Field(default=1e-5, ge=0)
    """Floor for values near zero."""


class Task(Record):
    """One problem of the catalogue. The oracle is code and stays out of JSON."""

    name: str
    """Unique name, e.g. `row_sum`."""
    title: str
    """A few words for tables, e.g. `Row sum`."""
    tier: int = Field(ge=0, le=3)
    """0 element-wise, 1 reductions and data movement, 2 linear algebra and norms, 3 fused."""
    family: str
    """Tasks of one family are split together between training and held-out sets."""
    prompt: str
    """What the agent is asked for, in words and with the formula."""
    dimensions: tuple[str, ...] = Field(min_length=1)
    """Named sizes in the order in which they are passed to the kernel as `int`."""
    inputs: tuple[TensorSpec, ...] = Field(min_length=1)
    """Arrays the kernel reads."""
    outputs: tuple[TensorSpec, ...] = Field(min_length=1)
    """Arrays the kernel writes."""
    scalars: dict[str, float] = Field(default_factory=dict)
    """Fixed float parameters, stated in the prompt and folded into the source by the candidate."""
    visible_shapes: tuple[dict[str, int], ...] = Field(min_length=1)
    """Sizes that the prompt may name."""
    hidden_shapes: tuple[dict[str, int], ...] = Field(min_length=1)
    """Sizes only the judge knows: tiny and unaligned ones among them."""
    timing_shape: dict[str, int]
    """The size at which time is modelled; small, because the emulator runs it."""
    gpu_timing_shape: dict[str, int] | None = None
    """The size at which time is measured on a GPU, large enough to fill it; None: `timing_shape`."""
    distributions: tuple[Distribution, ...] = ("normal", "uniform", "large")
    """How inputs are drawn."""
    drawn_as: dict[Distribution, dict[str, Distribution]] = Field(default_factory=dict)
    """In a run of the first distribution, the inputs named are drawn from others."""
    tolerance: Tolerance = Tolerance()
    """Error budget of the outputs."""
    bytes_moved: ExpressionField
    """Compulsory traffic: every input read once, every output written once."""
    operations: ExpressionField
    """Arithmetic operations of the plain algorithm."""
    baseline: str
    """Source of a naive kernel in the `kernel` contract; it passes, and is what speedups are against."""
    oracle: Oracle = Field(exclude=True, repr=False)
    """The float64 truth."""

    @model_validator(mode="after")
    def _shapes_fit_the_dimensions(self) -> Task:
        for shape in (*self.visible_shapes, *self.hidden_shapes, self.timing_shape, self.measured_shape):
            if set(shape) != set(self.dimensions):
                raise ValueError(f"{self.name}: shape {shape} must name exactly {self.dimensions}")
            if any(size < 1 for size in shape.values()):
                raise ValueError(f"{self.name}: shape {shape} has an extent below 1")
            for spec in (*self.inputs, *self.outputs):
                spec.extents(shape)
        names = [spec.name for spec in (*self.inputs, *self.outputs)] + list(self.dimensions)
        if len(names) != len(set(names)):
            raise ValueError(f"{self.name}: inputs, outputs and dimensions share a name: {names}")
        return self

    @model_validator(mode="after")
    def _only_inputs_are_drawn(self) -> Task:
        unknown = {name for named in self.drawn_as.values() for name in named} - {s.name for s in self.inputs}
        if unknown:
            raise ValueError(f"{self.name}: `drawn_as` names {', '.join(sorted(unknown))}, which is no input")
        return self

    @property
    def measured_shape(self) -> dict[str, int]:
        """The size at which time is measured on a GPU."""
        return self.gpu_timing_shape or self.timing_shape

    @property
    def default_arguments(self) -> tuple[str, ...]:
        """What a single kernel without `args=` receives: inputs, outputs, dimensions, in order."""
        return (*(s.name for s in self.inputs), *(s.name for s in self.outputs), *self.dimensions)


class ModuleTask(Record):
    """A problem stated as a PyTorch module, KernelBench's form; its candidates hold host code.

    The source defines `class Model(torch.nn.Module)`, `get_inputs()` and `get_init_inputs()`. It is
    trusted as the catalogue is: it runs in the judge's own processes, never in the candidate's.
    """

    name: str
    """Unique name."""
    source: str
    """Python source of the reference."""
    tolerance: Tolerance = Tolerance(relative=1e-3, absolute=1e-3)
    """Error budget against the module run in float64."""
    hidden_constants: tuple[dict[str, int], ...] = ()
    """Hidden shapes: values for module-level integer constants of the source, one run for each."""
    bytes_moved: int | None = Field(default=None, gt=0)
    """Compulsory traffic on the shape of the source; None: inputs, parameters and outputs as they are."""
    operations: int | None = Field(default=None, gt=0)
    """Arithmetic operations; None: no floor from them."""
    contract: Literal["extension", "module"] = "module"
    """How its answers are built and called where nobody asks for the other."""
    tier: int = Field(default=2, ge=0, le=3)
    """As of a `Task`; a guess where it comes from an archive."""
    family: str = "module"
    """As of a `Task`."""
