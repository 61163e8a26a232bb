"""One instance of the candidate for one shape, bound to an arena; makes the calls.

Around every call: the set's weights are copied into the module (so nothing prepared from earlier
weights is right), the L2 cache is overwritten, the call is made, its result is looked at for what
only this process can see (type, storage, aliasing) and copied into the output slot, and the whole
device is waited for. Checking calls and timed calls are the same calls.

Whatever a candidate makes of `torch.Tensor`, the functions used here are torch's own, taken before it was
loaded. And what it returned is kept until the next call's clock runs: an object that dies can set off work,
which after the clock nobody would time.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coding_framework.cuda.executors.host.child.clock import Clock
from coding_framework.cuda.executors.host.child.load import Loaded, LoadProblem
from coding_framework.cuda.executors.host.exchange.arena import Arena
from coding_framework.cuda.executors.host.exchange.layout import (
    ArenaLayout,
    CallShape,
    Constant,
    Placed,
    SetMap,
)
from coding_framework.cuda.executors.host.exchange.protocol import ArgumentSource, Configure, Problem

if TYPE_CHECKING:
    import torch

CallProblem = tuple[Problem, str]


@dataclass(frozen=True)
class OpenArena:
    """Exchange memory of one shape, and its map."""

    arena: Arena
    layout: ArenaLayout


@dataclass(frozen=True)
class TensorFunctions:
    """torch's own, whoever replaces them on its class later."""

    plain: type[Any]
    contiguous: Callable[..., Any]
    copy: Callable[..., Any]
    fill: Callable[..., Any]

    @classmethod
    def bound(cls) -> TensorFunctions:
        """Called before the candidate is there."""
        import torch

        plain = torch.Tensor
        return cls(plain, plain.contiguous, plain.copy_, plain.fill_)


class Instance:
    """A candidate ready to be called on any set of its arena."""

    def __init__(
        self,
        loaded: Loaded,
        memory: OpenArena,
        request: Configure,
        device: str,
        functions: TensorFunctions,
    ) -> None:
        self._torch = functions
        self._last_results: list[Any] = []
        self._request = request
        self._device = device
        self._function = loaded.function
        self._module: Any = None
        layout = memory.layout
        self._sets = [_SetViews(memory.arena, layout.set_map(i)) for i in range(layout.num_sets)]
        if loaded.module_class is not None:
            self._module = _build(loaded.module_class, request, device)
            self._targets = _match_state(self._module, layout.call, device)
        else:
            self._targets = [item.clone() for item in self._sets[0].state]
            """Not used by an extension, but copied all the same: the harness must cost what it costs
            the reference, whose overhead is subtracted."""

    def call(self, index: int, flush_value: int, clock: Clock) -> CallProblem | None:
        """One call on one set; what is wrong with the result, if anything."""
        views = self._sets[index]
        for target, source in zip(self._targets, views.state, strict=True):
            self._torch.copy(target, source)
        arguments = self.arguments(index)
        clock.forget_cache()
        for _ in range(clock.flush_passes):
            self._torch.fill(views.flush, flush_value)
        clock.start()
        self._last_results = []
        self._last_results = results = _each(self.invoke(arguments))
        dense = self._dense(results, views)
        clock.stop()
        clock.await_stop()  # or what we do next would cost nothing beside a slow device, and show with others
        problem = self._store(results, dense, views)
        clock.finish()
        return problem

    def arguments(self, index: int) -> list[Any]:
        """What this candidate's `forward` is given for a set."""
        views = self._sets[index]
        if self._module is not None:
            return views.inputs
        return [_argument(views, source) for source in self._request.arguments]

    def invoke(self, arguments: list[Any]) -> Any:
        """Just the call."""
        return self._module(*arguments) if self._function is None else self._function(*arguments)

    def _dense(self, results: list[Any], views: _SetViews) -> list[Any]:
        """In the usual order of elements: who returns another one pays for that, and for no more."""
        if len(results) != len(views.outputs):
            return results
        return [
            self._torch.contiguous(value)
            if type(value) is self._torch.plain and _is_like(value, slot)
            else value
            for value, slot in zip(results, views.outputs, strict=True)
        ]

    def _store(self, results: list[Any], dense: list[Any], views: _SetViews) -> CallProblem | None:
        if len(results) != len(views.outputs):
            return "count", f"forward returned {len(results)} results instead of {len(views.outputs)}"
        for value, copied, slot in zip(results, dense, views.outputs, strict=True):
            problem = _problem_with(value, slot, views, self._device)
            if problem is not None:
                return problem
            self._torch.copy(slot, copied)
        return None


class _SetViews:
    """The tensors of one set."""

    def __init__(self, arena: Arena, placed: SetMap) -> None:
        import torch

        self.inputs = [arena.view(i) if isinstance(i, Placed) else _value(i) for i in placed.inputs]
        self.parameters = [arena.view(item) for item in placed.parameters]
        self.buffers = [arena.view(item) for item in placed.buffers]
        self.outputs = [arena.view(item) for item in placed.outputs]
        self.flush = arena.view(placed.flush)
        tensors = [item for item in self.inputs if isinstance(item, torch.Tensor)]
        self.given = [_bytes_of(item) for item in (*tensors, *self.parameters, *self.outputs)]
        """Where a result must not lie: what is laid over the room for it need not be copied there."""

    @property
    def state(self) -> tuple[torch.Tensor, ...]:
        return (*self.parameters, *self.buffers)


def _is_like(value: torch.Tensor, slot: torch.Tensor) -> bool:
    return value.layout is slot.layout and value.shape == slot.shape


def _each(result: Any) -> list[Any]:
    return list(result) if type(result) in (tuple, list) else [result]


def _value(constant: Constant) -> object:
    return constant.value


def _argument(views: _SetViews, source: ArgumentSource) -> Any:
    match source.kind:
        case "input":
            return views.inputs[source.index]
        case "parameter":
            return (views.parameters + views.buffers)[source.index]
        case "parameters":
            return [views.parameters[index] for index in source.indices]
        case "value":
            return source.value


def _build(module_class: Any, request: Configure, device: str) -> Any:
    import torch

    torch.manual_seed(request.init_seed)
    module = module_class(*pickle.loads(request.init_inputs))
    if not isinstance(module, torch.nn.Module):
        raise LoadProblem("no_class", f"ModelNew is a {type(module).__name__}, not a torch.nn.Module")
    return module.to(device)


def _own_state(module: Any, device: str) -> dict[str, Any]:
    """What torch itself knows as the module's state, whatever the module says of it, and real memory."""
    import torch

    state = {
        **dict(torch.nn.Module.named_parameters(module)),
        **dict(torch.nn.Module.named_buffers(module)),
    }
    for name, value in state.items():
        if type(value) not in (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor)):
            raise LoadProblem("state", f"`{name}` is a {type(value).__name__}, not a plain torch tensor")
        if value.layout is not torch.strided or value.device.type != device:
            raise LoadProblem(
                "state",
                f"`{name}` is a {value.layout} tensor on {value.device}: it must be dense, on {device}",
            )
    return state


def _match_state(module: Any, call: CallShape, device: str) -> list[torch.Tensor]:
    """For each tensor of the reference's state, the candidate's own: by name, else by order and shape."""
    import torch

    own = _own_state(module, device)
    matched: dict[str, Any] = {}
    for wanted in (*call.parameters, *call.buffers):
        mine = own.get(wanted.name)
        if mine is not None and tuple(mine.shape) == wanted.shape:
            matched[wanted.name] = own.pop(wanted.name)
    for wanted in (*call.parameters, *call.buffers):
        if wanted.name not in matched:
            partner = next((name for name, mine in own.items() if tuple(mine.shape) == wanted.shape), None)
            if partner is None:
                raise LoadProblem(
                    "state",
                    f"ModelNew has no parameter for Model's `{wanted.name}` of shape {wanted.shape}: keep "
                    "its parameters with the same names and shapes, because they are set before every call",
                )
            matched[wanted.name] = own.pop(partner)
    return [torch.Tensor.detach(matched[wanted.name]) for wanted in (*call.parameters, *call.buffers)]


def _problem_with(value: Any, slot: torch.Tensor, views: _SetViews, device: str) -> CallProblem | None:
    import torch

    if type(value) is not torch.Tensor:
        return "type", f"forward returned a {type(value).__name__}; a plain torch.Tensor is needed"
    if value.layout is not torch.strided or value.device.type != device:
        return (
            "device",
            f"forward returned a {value.layout} tensor on {value.device}; a dense one on {device} is needed",
        )
    if value.shape != slot.shape:
        return "shape", f"forward returned shape {tuple(value.shape)} instead of {tuple(slot.shape)}"
    if value.dtype != slot.dtype:
        return "dtype", f"forward returned {value.dtype} instead of {slot.dtype}"
    first, last = _bytes_of(value)
    if any(first < end and start < last for start, end in views.given):
        return "aliased", "forward returned (part of) one of its inputs instead of a tensor of its own"
    return None


def _bytes_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Where its storage begins and ends; whole, so that no view slips through."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
