"""What the kernels of a synthetic task share: the names of their arguments, and the style of writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coding_framework.data.templates.operations import Layout


@dataclass(frozen=True)
class Style:
    """Choices that do not change what is computed."""

    block: int = 256
    index: str = "i"
    restrict: bool = False
    grid_stride: bool = False
    two_dimensional: bool = False
    accumulator: str = "total"


PLAIN = Style()


@dataclass(frozen=True)
class Signature:
    """Names of a synthetic task's kernel, arrays and dimensions, in argument order."""

    kernel: str
    inputs: Mapping[str, Layout]
    output: str
    dimensions: tuple[str, ...]

    def declaration(self, style: Style) -> str:
        qualifier = "__restrict__ " if style.restrict else ""
        parameters = [f"const float* {qualifier}{name}" for name in self.inputs]
        parameters += [f"float* {qualifier}{self.output}"] + [f"int {name}" for name in self.dimensions]
        return f'extern "C" __global__ void {self.kernel}({", ".join(parameters)}) {{'

    def launch(self, grid: str, block: str) -> str:
        return f"// launch: {self.kernel} grid=({grid}) block=({block})"


def element_names(signature: Signature, place: str) -> list[str]:
    """How each input is indexed at one element of a matrix."""
    index = {"matrix": place, "vector": place, "per_row": "r", "per_column": "c"}
    return [f"{name}[{index[layout]}]" for name, layout in signature.inputs.items()]


def join_lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"
