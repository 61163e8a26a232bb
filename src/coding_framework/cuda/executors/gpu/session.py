"""What a worker process keeps between calls: the device, a stream, our kernels, the arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from cuda.bindings import driver

from coding_framework.cuda.executors.base import FaultKind, ResolvedLaunch
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.gpu.arena import Arena, PinnedMemory
from coding_framework.cuda.executors.gpu.driver import CudaError, call, device_facts, open_device
from coding_framework.cuda.executors.gpu.entry import PreparedLaunch, PtxEntry, ptx_entries
from coding_framework.cuda.executors.gpu.harness import Harness
from coding_framework.cuda.executors.gpu.messages import DeviceFacts
from coding_framework.errors import DeviceFull

EVENTS = 6
"""Events around the steps of an iteration."""
STAGING_BYTES = 2**24
"""Page-locked memory of a process, to begin with."""
_STATIC_SHARED_BYTES = 48 * 1024
_MAX_STACK_SHARE = 1 / 16
"""Of the card's memory, for the local memory of all threads together."""
_NOTED_STACK_SHARE = 1 / 256
"""From which on a process is better replaced than kept."""
_GATE_BYTES = 64
_KINDS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": (FaultKind.OUT_OF_BOUNDS, "an address outside every buffer was accessed"),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (FaultKind.MISALIGNED, "an access is not aligned to its size"),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (
        FaultKind.INVALID_LAUNCH,
        "the launch needs more registers or shared memory than an SM has",
    ),
    "CUDA_ERROR_INVALID_VALUE": (FaultKind.INVALID_LAUNCH, "the driver refuses the launch"),
    "CUDA_ERROR_LAUNCH_TIMEOUT": (FaultKind.TIMEOUT, "the kernel ran too long"),
    "CUDA_ERROR_OUT_OF_MEMORY": (FaultKind.INVALID_LAUNCH, "the launch needs more memory than the GPU has"),
}


class Gate:
    """Holds a stream back until everything that shall run together has been put on it."""

    def __init__(self) -> None:
        self._memory = PinnedMemory(_GATE_BYTES)
        self._opened: npt.NDArray[np.uint32] = self._memory.reserve(_GATE_BYTES).view(np.uint32)
        self._opened[0] = self._number = 0

    def close(self, stream: Any) -> None:
        """Whatever is put on the stream from now on waits for `open`."""
        self._number += 1
        at_least = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
        call(driver.cuStreamWaitValue32(stream, self._opened.ctypes.data, self._number, at_least.value))

    def open(self) -> None:
        """Let go all that waits."""
        self._opened[0] = self._number


@dataclass
class Session:
    """One context with everything in it that is ours."""

    device: Any
    facts: DeviceFacts
    stream: Any
    arena: Arena
    """Of the timed calls; the verifier opens it."""
    small_arena: Arena
    """Of the checks; nobody else sees it."""
    staging: PinnedMemory
    """What goes to the device and comes from it, without anyone waiting."""
    gate: Gate
    harness: Harness
    flush_address: int
    flush_bytes: int
    transfer_us: dict[tuple[int, ...], float] = field(default_factory=dict)
    """Host to device, by the sizes of the arrays."""
    stack_bytes: int = 0
    """Most that the local memory of a kernel has taken; the driver keeps it until the process ends."""
    _events: list[list[Any]] = field(default_factory=list)

    @property
    def keeps_memory(self) -> bool:
        """Whether so much was taken that others would miss it."""
        return self.stack_bytes > _NOTED_STACK_SHARE * self.facts.memory_bytes

    def admit(self, module: LoadedModule) -> None:
        """Refuse kernels whose local memory would fill the card; before they are launched."""
        wanted = self.facts.stack_bytes(module.local_bytes)
        if wanted > _MAX_STACK_SHARE * self.facts.memory_bytes:
            raise KernelFault(
                FaultKind.INVALID_LAUNCH,
                f"a kernel keeps {module.local_bytes:,} bytes of arrays or spilled registers a thread, "
                f"{wanted / 2**30:.0f} GiB for all that the card can hold: use shared memory, or less",
            )
        self.stack_bytes = max(self.stack_bytes, wanted)

    def require_room(self) -> None:
        """Raise `DeviceFull` where a kernel may have found too little memory because others have it.

        Asked when the kernel holds none any more.
        """
        free, _ = call(driver.cuMemGetInfo())
        if free < _MAX_STACK_SHARE * self.facts.memory_bytes:
            raise DeviceFull(f"only {free:,} bytes of the GPU's memory are free: judge with fewer workers")

    def events(self, number: int) -> list[Any]:
        """The events of one iteration, made once for a process."""
        while len(self._events) <= number:
            self._events.append([call(driver.cuEventCreate(0)) for _ in range(EVENTS)])
        return self._events[number]


@cache
def session(device_index: int, harness_cubin: bytes) -> Session:
    """Made once for a process."""
    device = open_device(device_index)
    facts = device_facts(device)
    stream = call(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    flush_bytes = 3 * facts.l2_bytes // 2
    return Session(
        device=device,
        facts=facts,
        stream=stream,
        arena=Arena(start_bytes=facts.arena_bytes, fair_bytes=facts.fair_bytes),
        small_arena=Arena(start_bytes=2**24, fair_bytes=facts.fair_bytes),
        staging=PinnedMemory(STAGING_BYTES),
        gate=Gate(),
        harness=Harness(harness_cubin, stream, device),
        flush_address=int(call(driver.cuMemAlloc(flush_bytes))),
        flush_bytes=flush_bytes,
    )


class LoadedModule:
    """A binary in the context; its `__device__` variables are as the source initialises them."""

    def __init__(self, cubin: bytes, ptx: str) -> None:
        self._module = call(driver.cuModuleLoadData(cubin))
        self._entries = ptx_entries(ptx)
        self._functions: dict[str, tuple[Any, PtxEntry]] = {}
        self.local_bytes = 0
        """The most that a thread of the kernels prepared so far keeps in local memory."""

    def prepare(self, launch: ResolvedLaunch, addresses: Mapping[str, int]) -> PreparedLaunch:
        """Check and encode one launch; raises `KernelFault` for one that does not fit."""
        if launch.kernel not in self._entries:
            known = ", ".join(self._entries) or "none"
            raise KernelFault(
                FaultKind.INVALID_LAUNCH,
                f"there is no kernel `{launch.kernel}` in the compiled code (kernels: {known})",
            )
        function, entry = self._function(launch.kernel)
        prepared = PreparedLaunch(launch, entry, function, addresses)
        if launch.shared_bytes + entry.static_shared_bytes > _STATIC_SHARED_BYTES:
            allowed = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call(driver.cuFuncSetAttribute(function, allowed, launch.shared_bytes))
        return prepared

    def _function(self, name: str) -> tuple[Any, PtxEntry]:
        if name not in self._functions:
            function = call(driver.cuModuleGetFunction(self._module, name.encode()))
            self._functions[name] = function, _with_limits(self._entries[name], function)
            local = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
            self.local_bytes = max(self.local_bytes, int(call(driver.cuFuncGetAttribute(local, function))))
        return self._functions[name]

    def unload(self) -> None:
        call(driver.cuModuleUnload(self._module))


def _with_limits(entry: PtxEntry, function: Any) -> PtxEntry:
    attributes = driver.CUfunction_attribute
    threads = call(driver.cuFuncGetAttribute(attributes.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function))
    registers = call(driver.cuFuncGetAttribute(attributes.CU_FUNC_ATTRIBUTE_NUM_REGS, function))
    shared = call(driver.cuFuncGetAttribute(attributes.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function))
    demands = replace(entry.demands, max_threads=int(threads))
    return replace(entry, demands=demands, registers=int(registers), static_shared_bytes=int(shared))


def fire(launch: PreparedLaunch, stream: Any) -> None:
    """Put a launch on the stream."""
    call(
        driver.cuLaunchKernel(
            launch.function, *launch.grid, *launch.block, launch.shared_bytes, stream, 0, launch.extra
        )
    )


def fault_of(error: CudaError) -> KernelFault:
    """A driver's error in words for the agent."""
    kind, words = _KINDS.get(error.name, (FaultKind.CRASHED, "the kernel crashed"))
    return KernelFault(kind, f"{words} ({error.name})")


def upload(address: int, array: np.ndarray[Any, Any], stream: Any) -> None:
    """Host to device, in the order of the stream."""
    if array.nbytes:
        call(driver.cuMemcpyHtoDAsync(address, array.ctypes.data, array.nbytes, stream))
