"""What the driver would refuse before a single thread runs, and how arguments become bytes.

Both executors ask here, so that a launch is refused in the same words with and without a GPU.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Protocol

from coding_framework.cuda.executors.base import BufferArgument, FaultKind, ResolvedLaunch
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.ptx import Variable
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024
MAX_SHARED = 227 * 1024


class EntryPoint(Protocol):
    """What a launch must fit."""

    @property
    def max_threads(self) -> int | None: ...
    @property
    def static_shared_bytes(self) -> int: ...
    @property
    def parameters(self) -> Sequence[Variable]: ...
    @property
    def parameter_offsets(self) -> Sequence[int]: ...
    @property
    def parameter_bytes(self) -> int: ...


def _refuse(message: str) -> KernelFault:
    return KernelFault(FaultKind.INVALID_LAUNCH, message)


def check_launch(launch: ResolvedLaunch, kernel: EntryPoint) -> None:
    """Raise the fault that the driver's refusal would be."""
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    for axis, extent, limit in zip("xyz", launch.block, MAX_BLOCK, strict=True):
        if extent < 1:
            raise _refuse(f"`{launch.kernel}`: block extent {axis} is {extent}; it must be at least 1")
        if extent > limit:
            raise _refuse(f"`{launch.kernel}`: block extent {axis} is {extent}; the limit is {limit}")
    if threads > MAX_THREADS:
        raise _refuse(
            f"`{launch.kernel}`: a block of {launch.block} has {threads} threads; the limit is {MAX_THREADS}"
        )
    if kernel.max_threads is not None and threads > kernel.max_threads:
        raise _refuse(
            f"`{launch.kernel}`: {threads} threads a block, but __launch_bounds__ says {kernel.max_threads}"
        )
    for axis, extent, limit in zip("xyz", launch.grid, MAX_GRID, strict=True):
        if not 1 <= extent <= limit:
            raise _refuse(
                f"`{launch.kernel}`: grid extent {axis} is {extent}; it must lie between 1 and {limit}"
            )
    _check_shared(launch, kernel)


def _check_shared(launch: ResolvedLaunch, kernel: EntryPoint) -> None:
    if kernel.static_shared_bytes > MAX_STATIC_SHARED:
        raise _refuse(
            f"`{launch.kernel}` declares {kernel.static_shared_bytes} bytes of static shared memory; the "
            f"limit is {MAX_STATIC_SHARED} (use dynamic shared memory for more, up to {MAX_SHARED})"
        )
    if launch.shared_bytes < 0:
        raise _refuse(f"`{launch.kernel}`: negative dynamic shared memory ({launch.shared_bytes} bytes)")
    total = kernel.static_shared_bytes + launch.shared_bytes
    if total > MAX_SHARED:
        raise _refuse(
            f"`{launch.kernel}` needs {total} bytes of shared memory a block; the limit is {MAX_SHARED}"
        )


def describe_parameters(kernel: EntryPoint) -> str:
    """`(pointer or 64-bit, pointer or 64-bit, 32-bit)`."""
    words = [_describe(parameter) for parameter in kernel.parameters]
    return "(" + ", ".join(words) + ")"


def _describe(parameter: Variable) -> str:
    if parameter.count is not None:
        return f"{parameter.num_bytes}-byte struct"
    if parameter.type in ("f32", "f64"):
        return {"f32": "float", "f64": "double"}[parameter.type]
    size = TYPE_BYTES[parameter.type]
    return "64-bit (pointer or long long)" if size == 8 else f"{8 * size}-bit integer"


def encode_arguments(launch: ResolvedLaunch, kernel: EntryPoint, addresses: Mapping[str, int]) -> bytes:
    """The kernel's parameter block."""
    given, wanted = len(launch.arguments), len(kernel.parameters)
    if given != wanted:
        raise _refuse(
            f"`{launch.kernel}` takes {wanted} parameters {describe_parameters(kernel)} but the launch "
            f"gives {given} arguments"
        )
    block = bytearray(max(kernel.parameter_bytes, 1))
    for position, (argument, parameter) in enumerate(zip(launch.arguments, kernel.parameters, strict=True)):
        offset = kernel.parameter_offsets[position]
        encoded = _encode(argument, parameter, position, launch, kernel, addresses)
        block[offset : offset + len(encoded)] = encoded
    return bytes(block)


def _encode(
    argument: BufferArgument | int,
    parameter: Variable,
    position: int,
    launch: ResolvedLaunch,
    kernel: EntryPoint,
    addresses: Mapping[str, int],
) -> bytes:
    size, place = TYPE_BYTES[parameter.type], f"argument {position + 1} of `{launch.kernel}`"
    if parameter.count is not None:
        raise _refuse(
            f"{place} is a {parameter.num_bytes}-byte struct; a launch can pass pointers and numbers only"
        )
    if isinstance(argument, BufferArgument):
        if size != 8 or parameter.type == "f64":
            raise _refuse(
                f"{place} is a {_describe(parameter)} but the launch passes the buffer `{argument.name}`; "
                f"the parameters are {describe_parameters(kernel)}"
            )
        if argument.name not in addresses:
            raise _refuse(f"{place} names the buffer `{argument.name}`, which does not exist")
        return addresses[argument.name].to_bytes(8, "little")
    if parameter.type in ("f32", "f64"):
        return struct.pack("<f" if parameter.type == "f32" else "<d", float(argument))
    if not -(1 << (8 * size - 1)) <= argument < 1 << (8 * size):
        raise _refuse(f"{place}: {argument} does not fit the parameter's {8 * size} bits")
    return (argument & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
