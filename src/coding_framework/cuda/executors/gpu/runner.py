"""Runs in a worker process with a CUDA context and no torch: one request, one answer.

A fault of the kernel is a value. One that poisons the context is marked, and the process replaced.
The process never holds an expected value: only inputs come in, and outputs go out.
"""

from __future__ import annotations

import re

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
from coding_framework.cuda.executors.gpu.arena import download
from coding_framework.cuda.executors.gpu.driver import CudaError, call, open_device
from coding_framework.cuda.executors.gpu.layout import Place, touched_in
from coding_framework.cuda.executors.gpu.messages import DeviceFacts, RunAnswer
from coding_framework.cuda.executors.gpu.session import (
    LoadedModule,
    Session,
    device_facts,
    fault_of,
    fire,
    session,
    upload,
)

_GLOBAL = re.compile(r"^\s*(?:\.\w+\s+)*\.global\b", re.MULTILINE)


def describe(device_index: int) -> DeviceFacts:
    """Open the device and say what it is."""
    return device_facts(open_device(device_index))


def warm_up(device_index: int, harness_cubin: bytes) -> None:
    """Everything that takes long and disturbs nobody."""
    session(device_index, harness_cubin)


def run_many(requests: tuple[ExecutionRequest, ...], device_index: int, harness_cubin: bytes) -> RunAnswer:
    """Every request in turn, up to the first fault."""
    here = session(device_index, harness_cubin)
    outcomes: list[ExecutionOutcome] = []
    loaded = _Loaded()
    for request in requests:
        try:
            outcomes.append(_run(here, request, loaded.module(request)))
        except KernelFault as refused:
            outcomes.append(ExecutionOutcome(refused.fault, {}, ()))
        except CudaError as error:
            outcomes.append(ExecutionOutcome(fault_of(error).fault, {}, ()))
            if error.is_sticky:
                return RunAnswer(tuple(outcomes), is_poisoned=True)
        if outcomes[-1].fault is not None:
            break
    loaded.unload()
    return RunAnswer(tuple(outcomes))


def _run(here: Session, request: ExecutionRequest, module: LoadedModule) -> ExecutionOutcome:
    """Upload, launch in order, download; guard zones and addresses are watched."""
    places, image = here.small_arena.image({n: (b.nbytes, 1) for n, b in request.buffers.items()})
    for name, buffer in request.buffers.items():
        _part(image, places[name])[:] = buffer.view(np.uint8)
    upload(here.small_arena.base, image, here.stream)
    here.harness.dirty_shared(request.poison, here.facts.num_sms)
    _launch_all(here, request, places, module)
    download(here.small_arena.base, image, here.stream)
    stray = touched_in(image, places)
    fault = None if stray is None else stray_write(stray)
    contents: dict[str, Buffer] = {
        name: _part(image, places[name]).view(buffer.dtype).copy() for name, buffer in request.buffers.items()
    }
    return ExecutionOutcome(fault, contents, (), request.poison)


def _part(image: npt.NDArray[np.uint8], place: Place) -> npt.NDArray[np.uint8]:
    return image[place.offset : place.offset + place.num_bytes]


def _launch_all(
    here: Session, request: ExecutionRequest, places: dict[str, Place], module: LoadedModule
) -> None:
    addresses = {name: place.address for name, place in places.items()}
    for launch in request.launches:
        fire(module.prepare(launch, addresses), here.stream)
    call(driver.cuStreamSynchronize(here.stream))


class _Loaded:
    """The module of a run: loaded anew where it has variables that outlive a launch, else kept."""

    def __init__(self) -> None:
        self._module: LoadedModule | None = None
        self._cubin = b""

    def module(self, request: ExecutionRequest) -> LoadedModule:
        if self._module is not None and request.cubin == self._cubin and not _GLOBAL.search(request.ptx):
            return self._module
        self.unload()
        self._module, self._cubin = LoadedModule(request.cubin, request.ptx), request.cubin
        return self._module

    def unload(self) -> None:
        if self._module is not None:
            self._module.unload()
            self._module = None


def stray_write(buffer: str) -> ExecutionFault:
    """A guard zone that was written to."""
    return ExecutionFault(
        FaultKind.OUT_OF_BOUNDS, f"the kernel wrote outside its buffers, next to `{buffer}`: check the bounds"
    )
