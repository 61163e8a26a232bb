"""How an extension's `forward` wants to be called, read from its source.

The archive's convention: the inputs of the module's `forward`, then its parameters, then plain numbers
of the constructor. A parameter is matched by its name (`conv_weight` is `conv.weight`: the archive does
not keep the order of `named_parameters`, which puts a module's own before those of its parts), what is
left by order. A `forward` that takes `std::vector`s gets the parameters in groups by their last name
(`weight`, `bias`), in the order in which the names come up. A number is matched by its name to a
constructor argument, else by position among the plain ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from coding_framework.cuda.analysis.syntax import calls, functions, last_name, parse, text, walk
from coding_framework.cuda.executors.host.exchange.layout import CallShape, TensorShape
from coding_framework.cuda.executors.host.exchange.protocol import ArgumentSource

ParameterKind = Literal["tensor", "tensors", "value"]


class NoForward(Exception):
    """The source does not export a `forward` that can be called here; the words say why."""


@dataclass(frozen=True)
class ForwardParameter:
    """One parameter of the exported function."""

    name: str
    kind: ParameterKind
    optional: bool
    """Has a default value."""


def forward_parameters(source: str) -> tuple[ForwardParameter, ...]:
    """Of the function that `m.def("forward", ...)` exports; raises `NoForward`."""
    root = parse(source)
    exported = next(
        (call for call in calls(root) if call.name == "def" and _is_forward(call.arguments)),
        None,
    )
    if exported is None or len(exported.arguments) < 2:
        raise NoForward('the source exports nothing as "forward" (m.def("forward", ...) is missing)')
    target = exported.arguments[1]
    if target.type == "lambda_expression":
        return tuple(_parameters(target))
    name = last_name(target)
    found = next((item for item in functions(root) if item.name == name), None)
    if found is None:
        raise NoForward(f"`{name}`, exported as forward, is not defined in the source")
    return tuple(_parameters(found.node))


def _is_forward(arguments: tuple[Node, ...]) -> bool:
    return bool(arguments) and text(arguments[0]).strip('"') == "forward"


def _parameters(owner: Node) -> Iterator[ForwardParameter]:
    """Of the first parameter list below a function or a lambda."""
    listed = next((node for node in walk(owner) if node.type == "parameter_list"), None)
    for node in listed.named_children if listed is not None else ():
        if node.type in ("parameter_declaration", "optional_parameter_declaration"):
            words = text(node)
            declarator = node.child_by_field_name("declarator")
            yield ForwardParameter(
                name=last_name(declarator) or _last_identifier(node),
                kind=_kind(words),
                optional=node.type == "optional_parameter_declaration",
            )


def _last_identifier(node: Node) -> str:
    names = [text(child) for child in walk(node) if child.type == "identifier"]
    return names[-1] if names else ""


def _kind(words: str) -> ParameterKind:
    if "Tensor" not in words:
        return "value"
    return "tensors" if "vector" in words or "TensorList" in words or "ArrayRef" in words else "tensor"


def plan_arguments(
    parameters: tuple[ForwardParameter, ...], call: CallShape, init_values: tuple[tuple[str, object], ...]
) -> tuple[ArgumentSource, ...]:
    """Where each argument comes from; raises `NoForward` when there is nothing left to pass."""
    return tuple(_Planner(parameters, call, init_values).plan())


class _Planner:
    def __init__(
        self,
        parameters: tuple[ForwardParameter, ...],
        call: CallShape,
        init_values: tuple[tuple[str, object], ...],
    ) -> None:
        self._parameters = parameters
        self._tensors = [ArgumentSource("input", i) for i, item in enumerate(call.inputs) if _tensor(item)]
        self._state = self._flat_state(call)
        wanted_names = {item.name for item in parameters if item.kind == "tensor"}
        self._unnamed = [item for name, item in self._state.items() if name not in wanted_names]
        self._groups = _groups(call.parameters, sum(item.kind == "tensors" for item in parameters))
        self._constants = [
            ArgumentSource("input", i) for i, item in enumerate(call.inputs) if not _tensor(item)
        ]
        self._values = list(init_values)
        wanted = sum(item.kind == "value" for item in parameters) - len(self._constants)
        self._by_position = [value for _, value in init_values][-wanted:] if wanted > 0 else []

    def _flat_state(self, call: CallShape) -> dict[str, ArgumentSource]:
        """By the name that a C++ parameter can have."""
        if any(item.kind == "tensors" for item in self._parameters):
            return {}
        state = (*call.parameters, *call.buffers)
        return {item.name.replace(".", "_"): ArgumentSource("parameter", i) for i, item in enumerate(state)}

    def plan(self) -> Iterator[ArgumentSource]:
        for parameter in self._parameters:
            source = self._take(parameter)
            if source is None and parameter.optional:
                return
            if source is None:
                raise NoForward(
                    f"forward's parameter `{parameter.name}` has no counterpart: it is given the module's "
                    "inputs, then its parameters, then the numbers of its constructor"
                )
            yield source

    def _take(self, parameter: ForwardParameter) -> ArgumentSource | None:
        if parameter.kind == "tensor":
            return self._take_tensor(parameter.name)
        if parameter.kind == "tensors":
            return ArgumentSource("parameters", indices=self._groups.pop(0)) if self._groups else None
        if self._constants:
            return self._constants.pop(0)
        return self._take_value(parameter.name)

    def _take_tensor(self, name: str) -> ArgumentSource | None:
        if self._tensors:  # the inputs come first, whatever they are called
            return self._tensors.pop(0)
        if name in self._state:
            return self._state.pop(name)
        return self._unnamed.pop(0) if self._unnamed else None

    def _take_value(self, name: str) -> ArgumentSource | None:
        named = dict(self._values)
        if name in named:
            value = named[name]
            if value in self._by_position:
                self._by_position.remove(value)
            return ArgumentSource("value", value=value)
        return ArgumentSource("value", value=self._by_position.pop(0)) if self._by_position else None


def _tensor(item: object) -> bool:
    return isinstance(item, TensorShape)


def _groups(parameters: tuple[TensorShape, ...], count: int) -> list[tuple[int, ...]]:
    """Indices of the parameters: all in one list, or one list for each last name."""
    if count <= 1:
        return [tuple(range(len(parameters)))] * count
    by_name: dict[str, list[int]] = {}
    for index, parameter in enumerate(parameters):
        by_name.setdefault(parameter.name.rpartition(".")[2], []).append(index)
    return [tuple(indices) for indices in by_name.values()]
