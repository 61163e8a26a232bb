"""The reference module in the verifier: what goes in, and what has to come out, in float64.

Expected values are computed after a candidate has run, from a seed that only the judge's side knows,
and stay in this process.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coding_framework.cuda.executors.host.exchange.layout import ITEM_BYTES, CallShape, Constant, TensorShape
from coding_framework.cuda.executors.host.verifier.drawing import (
    DISTRIBUTIONS,
    DrawnSet,
    SetDistribution,
    classify,
    draw_inputs,
    draw_parameter,
)
from coding_framework.cuda.executors.host.verifier.task_source import execute_source, override_constants
from coding_framework.errors import UserError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Expectation:
    """The oracle's outputs, and the reference's own in its element type."""

    wide: list[torch.Tensor]
    """float64 (or as it is, for integers)."""
    narrow: list[torch.Tensor]


class Reference:
    """A task on one shape."""

    def __init__(self, name: str, source: str, overrides: Mapping[str, int], device: str, seed: int) -> None:
        import torch

        self.name, self.device, self.init_seed = name, device, seed
        self.source = override_constants(source, overrides)
        definitions = execute_source(self.source, name)
        torch.manual_seed(seed)
        self.init_inputs = tuple(definitions.get_init_inputs())
        torch.manual_seed(seed)
        self._narrow = definitions.model_class(*self.init_inputs).to(device)
        self._wide = copy.deepcopy(self._narrow).double()
        self.model_class: Any = definitions.model_class
        self._get_inputs = definitions.get_inputs
        self.templates = [classify(value) for value in definitions.get_inputs()]
        self._parameters = [value.detach().clone() for value in self._narrow.parameters()]
        self._buffers = [value.detach().clone() for value in self._narrow.buffers()]
        self.call = self._call_shape(self.expected(self.draw(seed, "normal")).narrow)

    def draw(self, seed: int, distribution: SetDistribution) -> DrawnSet:
        """Fresh inputs and weights; the same for the same seed."""
        import torch

        generator = torch.Generator(self.device).manual_seed(seed)
        return DrawnSet(
            inputs=draw_inputs(self.templates, self._get_inputs, distribution, generator, self.device),
            parameters=[draw_parameter(base, generator) for base in self._parameters],
            buffers=[base.clone() for base in self._buffers],
        )

    def expected(self, drawn: DrawnSet) -> Expectation:
        """Both precisions, with full float32 arithmetic in the narrow one."""
        import torch

        narrow = self._run(self._narrow, drawn, None)
        torch.set_default_dtype(torch.float64)
        try:
            wide = self._run(self._wide, drawn, torch.float64)
        except torch.OutOfMemoryError:
            raise  # the device's fault and not the task's
        except Exception as error:
            raise UserError(
                f"task {self.name} does not run in float64, which its check needs: {error}"
            ) from error
        finally:
            torch.set_default_dtype(torch.float32)
        return Expectation(wide, narrow)

    def usable_distributions(self, seed: int) -> tuple[SetDistribution, ...]:
        """Those on which the reference itself is finite where the oracle is, and near it.

        A task that exponentiates its input overflows on large ones; asking a candidate for more than
        the reference can do would fail honest work.
        """
        usable = [kind for kind in DISTRIBUTIONS if self._is_sound(self.expected(self.draw(seed, kind)))]
        if "normal" not in usable:
            raise UserError(f"task {self.name}: the reference is not near its own float64 result")
        return tuple(usable)

    def is_repeatable(self, seed: int) -> bool:
        """Whether the same seed gives the same inputs and output: what is random cannot be judged."""
        import torch

        first, second = self.draw(seed, "normal"), self.draw(seed, "normal")
        tensors = [value for value in first.inputs if isinstance(value, torch.Tensor)]
        again = [value for value in second.inputs if isinstance(value, torch.Tensor)]
        if not all(map(torch.equal, tensors, again)):
            return False
        outputs = zip(self.expected(first).wide, self.expected(second).wide, strict=True)
        return all(torch.allclose(a, b, equal_nan=True) for a, b in outputs)

    def _is_sound(self, expectation: Expectation) -> bool:
        import torch

        for wide, narrow in zip(expectation.wide, expectation.narrow, strict=True):
            if not wide.is_floating_point():
                continue
            finite = torch.isfinite(wide)
            if not bool(torch.isfinite(narrow)[finite].all()):
                return False
            difference = (narrow.double() - wide)[finite]
            scale = wide[finite].square().mean().sqrt() if finite.any() else torch.tensor(0.0)
            if finite.any() and float(difference.square().mean().sqrt()) > 0.01 * float(scale) + 1e-12:
                return False
        return True

    def _run(self, module: Any, drawn: DrawnSet, dtype: torch.dtype | None) -> list[torch.Tensor]:
        import torch

        with torch.no_grad():
            for target, value in zip(module.parameters(), drawn.parameters, strict=True):
                target.copy_(value)
            for target, value in zip(module.buffers(), drawn.buffers, strict=True):
                target.copy_(value)
            result = module(*[_own_copy(value, dtype) for value in drawn.inputs])
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        if not all(isinstance(output, torch.Tensor) for output in outputs):
            raise UserError(f"task {self.name}: forward must return tensors")
        return outputs

    def _call_shape(self, outputs: list[torch.Tensor]) -> CallShape:
        names = [name for name, _ in self._narrow.named_parameters()]
        buffer_names = [name for name, _ in self._narrow.named_buffers()]
        taken = list(inspect.signature(self._narrow.forward).parameters)
        taken += [f"input {i}" for i in range(len(taken), len(self.templates))]
        return CallShape(
            inputs=tuple(
                Constant(t.value) if t.kind == "constant" else shape_of(name, t.value)
                for name, t in zip(taken, self.templates, strict=False)
            ),
            parameters=tuple(map(shape_of, names, self._parameters)),
            buffers=tuple(map(shape_of, buffer_names, self._buffers)),
            outputs=tuple(shape_of(f"output {i}", output) for i, output in enumerate(outputs)),
        )


def _own_copy(value: Any, dtype: torch.dtype | None) -> Any:
    """A module may write to its inputs: it gets its own."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    copied = value.clone()
    return copied.to(dtype) if dtype is not None and copied.is_floating_point() else copied


def shape_of(name: str, tensor: torch.Tensor) -> TensorShape:
    """The tensor without its values."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in ITEM_BYTES:
        raise UserError(f"{name} has the element type {dtype}, which cannot be exchanged")
    return TensorShape(name, tuple(tensor.shape), dtype)
