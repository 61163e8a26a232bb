"""Float64 truth of synthetic tasks, as small classes, so that a task can be sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from coding_framework.data.templates.formula import Formula
from coding_framework.data.templates.operations import Layout, Reducer
from coding_framework.records import Dimensions


@dataclass(frozen=True)
class MapOracle:
    """An element-wise formula over named inputs."""

    formula: Formula
    inputs: tuple[tuple[str, Layout], ...]
    output: str

    def __call__(
        self, xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions
    ) -> Mapping[str, Any]:
        arrays = [
            xp.reshape(inputs[name], (-1, 1)) if layout == "per_row" else inputs[name]
            for name, layout in self.inputs
        ]
        return {self.output: self.formula.compute(xp, arrays)}


@dataclass(frozen=True)
class RowOracle:
    """A reduction of a formula over the rows of named inputs."""

    formula: Formula
    inputs: tuple[str, ...]
    output: str
    reducer: Reducer
    root: bool

    def __call__(
        self, xp: ModuleType, inputs: Mapping[str, Any], dimensions: Dimensions
    ) -> Mapping[str, Any]:
        values = self.formula.compute(xp, [inputs[name] for name in self.inputs])
        result = getattr(xp, self.reducer)(values, axis=1)
        return {self.output: xp.sqrt(result) if self.root else result}
