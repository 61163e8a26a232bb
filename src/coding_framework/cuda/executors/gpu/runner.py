"""Runs in a worker process with a CUDA context and no torch: many requests, one answer.

Requests are staged, run and collected by calls of their own, because only the running needs the device.

A fault of the kernel is a value. One that poisons the context is marked, and the process replaced.
The process never holds an expected value: only inputs come in, and outputs go out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from cuda.bindings import driver

from coding_framework.cuda.executors.base import (
    Buffer,
    ExecutionFault,
    ExecutionOutcome,
    ExecutionRequest,
    FaultKind,
)
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.gpu.driver import CudaError, call, device_facts, open_device
from coding_framework.cuda.executors.gpu.layout import Layout, Place, lay_out, paint, touched_in
from coding_framework.cuda.executors.gpu.messages import DeviceFacts, RunAnswer
from coding_framework.cuda.executors.gpu.session import (
    STAGING_BYTES,
    LoadedModule,
    Session,
    fault_of,
    fire,
    session,
)
from coding_framework.cuda.executors.unwritten import nan_word

_GLOBAL = re.compile(r"(?<!\w)(?<!\.ptr )\.global\s")
"""A declaration, wherever it stands; not the hint of a pointer, nor an instruction."""
_COUNTER_BYTES = 256
"""Room for one number, so that what follows it is aligned."""


_STAGED: list[Run] = []
_ANSWER: list[RunAnswer] = []
"""At most one set of runs is under way in a process."""


def describe(device_index: int) -> DeviceFacts:
    """Open the device and say what it is."""
    return device_facts(open_device(device_index))


def warm_up(device_index: int, harness_cubin: bytes) -> None:
    """Everything that takes long and disturbs nobody."""
    session(device_index, harness_cubin)


def stage(requests: tuple[ExecutionRequest, ...]) -> None:
    """Take requests over: what travels between processes needs no device."""
    _STAGED[:] = [Run(request) for request in requests]


def run_staged(device_index: int, harness_cubin: bytes) -> None:
    """Every request in turn, up to the first fault."""
    here = session(device_index, harness_cubin)
    outcomes: list[ExecutionOutcome] = []
    answer = RunAnswer(())
    for batch in batches(_STAGED, STAGING_BYTES - _COUNTER_BYTES):
        answer = _run_batch(here, batch)
        outcomes += answer.outcomes
        if outcomes[-1].fault is not None:
            break
    _ANSWER[:] = [replace(answer, outcomes=tuple(outcomes), keeps_memory=here.keeps_memory)]


def collect() -> RunAnswer:
    """What came of the staged requests."""
    _STAGED.clear()
    return _ANSWER.pop()


@dataclass
class Run:
    """A request and the image of its memory, first as it should go in and then as it came out."""

    request: ExecutionRequest

    def __post_init__(self) -> None:
        buffers = self.request.buffers.items()
        self.layout: Layout = lay_out({name: (buffer.nbytes, 1) for name, buffer in buffers})
        self.image: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    def fill(self, image: npt.NDArray[np.uint8]) -> None:
        """Write the buffers into this memory, with guards around them."""
        self.image = image
        paint(image)
        for place in self.layout.places:
            self._part(place)[:] = self.request.buffers[place.name].view(np.uint8)

    def outcome(self) -> ExecutionOutcome:
        """What is in the image now; the guards are looked at."""
        stray = touched_in(self.image, self.layout.places)
        contents: dict[str, Buffer] = {
            place.name: self._part(place).view(self.request.buffers[place.name].dtype).copy()
            for place in self.layout.places
        }
        fault = None if stray is None else stray_write(stray)
        return ExecutionOutcome(fault, contents, (), self.request.poison)

    def _part(self, place: Place) -> npt.NDArray[np.uint8]:
        return self.image[place.offset : place.offset + place.num_bytes]


def batches(runs: Sequence[Run], limit_bytes: int) -> Iterator[list[Run]]:
    """As many runs together as have room for their images, and at least one."""
    batch: list[Run] = []
    room = limit_bytes
    for run in runs:
        if batch and run.layout.num_bytes > room:
            yield batch
            batch, room = [], limit_bytes
        batch.append(run)
        room -= run.layout.num_bytes
    if batch:
        yield batch


def _run_batch(here: Session, batch: list[Run]) -> RunAnswer:
    """All of it is put on the stream and waited for once.

    Processes that share a GPU are served in turns, and every wait costs a turn, it seems also that of
    a kernel for the copy engine. Where a fault ends the context, the counter in the host's memory still
    tells how many runs were over, and their images are there.
    """
    staging = here.staging.reserve(_COUNTER_BYTES + sum(run.layout.num_bytes for run in batch))
    counter, at = staging[:4].view(np.uint32), _COUNTER_BYTES
    counter[0] = 0
    for run in batch:
        run.fill(staging[at : at + run.layout.num_bytes])
        at += run.layout.num_bytes
    loaded = _Loaded()
    ending = _attempt(lambda: _enqueue(here, batch, loaded, counter.ctypes.data))
    if not ending.is_poisoned:
        late = _attempt(lambda: call(driver.cuStreamSynchronize(here.stream)))
        ending = late if late.fault is not None else ending
    if not ending.is_poisoned:
        loaded.unload()
    if ending.lacks_memory:
        here.require_room()
    outcomes = [run.outcome() for run in batch[: int(counter[0])]]
    if ending.fault is not None:
        outcomes.append(ExecutionOutcome(ending.fault, {}, ()))
    return RunAnswer(up_to_first_fault(outcomes), is_poisoned=ending.is_poisoned)


def _enqueue(here: Session, batch: list[Run], loaded: _Loaded, counter: int) -> None:
    """For each run: its image to the device, dirty shared memory, the launches, the image back, a count."""
    base = here.small_arena.reserve(max(run.layout.num_bytes for run in batch))
    for number, run in enumerate(batch, start=1):
        module = loaded.module(run.request)
        addresses = {name: place.address for name, place in run.layout.at(base).items()}
        launches = [module.prepare(launch, addresses) for launch in run.request.launches]
        here.admit(module)
        here.harness.copy(base, run.image.ctypes.data, run.image.nbytes)
        here.harness.dirty_shared(nan_word(run.request.poison))
        for launch in launches:
            fire(launch, here.stream)
        here.harness.copy(run.image.ctypes.data, base, run.image.nbytes)
        call(driver.cuStreamWriteValue32(here.stream, counter, number, 0))


@dataclass(frozen=True)
class _Ending:
    """How a step ended."""

    fault: ExecutionFault | None = None
    """The kernel's, if any."""
    is_poisoned: bool = False
    """Whether it cost the context."""
    lacks_memory: bool = False
    """Whether it may be somebody else's after all."""


def _attempt(step: Callable[[], object]) -> _Ending:
    try:
        step()
    except KernelFault as refused:
        return _Ending(refused.fault)
    except CudaError as error:
        return _Ending(fault_of(error).fault, error.is_sticky, error.lacks_memory)
    return _Ending()


def up_to_first_fault(outcomes: Sequence[ExecutionOutcome]) -> tuple[ExecutionOutcome, ...]:
    """What someone who runs one after the other would have seen."""
    first = next((i for i, outcome in enumerate(outcomes) if outcome.fault is not None), len(outcomes))
    return tuple(outcomes[: first + 1])


class _Loaded:
    """The modules of a batch: one for each run where it has variables that outlive a launch, else shared."""

    def __init__(self) -> None:
        self._modules: list[LoadedModule] = []
        self._cubin = b""

    def module(self, request: ExecutionRequest) -> LoadedModule:
        if not self._modules or request.cubin != self._cubin or _GLOBAL.search(request.ptx):
            self._modules.append(LoadedModule(request.cubin, request.ptx))
            self._cubin = request.cubin
        return self._modules[-1]

    def unload(self) -> None:
        """When nothing of them runs any more."""
        for module in self._modules:
            module.unload()


def stray_write(buffer: str) -> ExecutionFault:
    """A guard zone that was written to."""
    return ExecutionFault(
        FaultKind.OUT_OF_BOUNDS, f"the kernel wrote outside its buffers, next to `{buffer}`: check the bounds"
    )
