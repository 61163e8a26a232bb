"""What the driver would refuse before a single thread runs, and how arguments become bytes.

Both executors ask here, so that a launch is refused in the same words with and without a GPU.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Protocol

from coding_framework.cuda.executors.base import BufferArgument, FaultKind, ResolvedLaunch
from coding_framework.cuda.executors.emulator.device_model import H200
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.emulator.ptx import Variable
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES, Demands
from coding_framework.cuda.toolchain.occupancy import most_threads

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024
MAX_SHARED = 227 * 1024
MAX_CLUSTER = 8
"""Blocks; sixteen need an attribute that the host sets, and a launch plan cannot."""


class EntryPoint(Protocol):
    """What a launch must fit."""

    @property
    def demands(self) -> Demands: ...
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


def check_launch(launch: ResolvedLaunch, kernel: EntryPoint, registers: int | None) -> None:
    """Raise the fault that the driver's refusal would be; `registers` of a thread, where they are known."""
    _check_block(launch)
    if registers is not None:
        _check_registers(launch, registers)
    for axis, extent, limit in zip("xyz", launch.grid, MAX_GRID, strict=True):
        if not 1 <= extent <= limit:
            raise _refuse(
                f"`{launch.kernel}`: grid extent {axis} is {extent}; it must lie between 1 and {limit}"
            )
    _check_own_limits(launch, kernel.demands)
    _check_cluster(launch, kernel.demands)
    _check_shared(launch, kernel)


def _check_block(launch: ResolvedLaunch) -> None:
    threads = prod(launch.block)
    for axis, extent, limit in zip("xyz", launch.block, MAX_BLOCK, strict=True):
        if extent < 1:
            raise _refuse(f"`{launch.kernel}`: block extent {axis} is {extent}; it must be at least 1")
        if extent > limit:
            raise _refuse(f"`{launch.kernel}`: block extent {axis} is {extent}; the limit is {limit}")
    if threads > MAX_THREADS:
        raise _refuse(
            f"`{launch.kernel}`: a block of {launch.block} has {threads} threads; the limit is {MAX_THREADS}"
        )


def _check_own_limits(launch: ResolvedLaunch, demands: Demands) -> None:
    threads = prod(launch.block)
    if demands.max_threads is not None and threads > demands.max_threads:
        raise _refuse(
            f"`{launch.kernel}`: {threads} threads a block, but __launch_bounds__ says {demands.max_threads}"
        )
    if demands.block is not None and launch.block != demands.block:
        raise _refuse(
            f"`{launch.kernel}`: a block of {launch.block}, but __block_size__ says {demands.block}"
        )


def _check_registers(launch: ResolvedLaunch, registers: int) -> None:
    threads, most = prod(launch.block), most_threads(registers, H200)
    if threads > most:
        raise _refuse(
            f"`{launch.kernel}` needs {registers} registers a thread, and a block of {threads} threads more "
            f"than the {H200.registers_per_sm:,} that an SM has, so no GPU can launch it: use blocks of "
            f"{most} threads at the most, keep fewer values in each thread, or let the compiler use fewer "
            f"registers with __launch_bounds__({threads})"
        )


def _check_cluster(launch: ResolvedLaunch, demands: Demands) -> None:
    cluster = demands.cluster
    if cluster is None:
        if demands.needs_cluster:
            raise _refuse(
                f"`{launch.kernel}` is to run in clusters of blocks but does not say how large they are: "
                "write __cluster_dims__(x, y, z)"
            )
        return
    if prod(cluster) > MAX_CLUSTER:
        raise _refuse(
            f"`{launch.kernel}`: a cluster of {cluster} has {prod(cluster)} blocks; the limit is "
            f"{MAX_CLUSTER} (16 need a setting of the host's that a launch plan does not have)"
        )
    if any(n % c for n, c in zip(launch.grid, cluster, strict=True)) and not demands.grid_counts_clusters:
        raise _refuse(
            f"`{launch.kernel}`: a grid of {launch.grid} is no multiple of the cluster {cluster} that "
            "__cluster_dims__ says: round the grid up in the launch plan, and let the blocks beyond the "
            "data do nothing"
        )


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


def in_blocks(launch: ResolvedLaunch, kernel: EntryPoint) -> ResolvedLaunch:
    """The same with its grid in blocks, where the kernel counts it in clusters."""
    cluster = kernel.demands.cluster
    if cluster is None or not kernel.demands.grid_counts_clusters:
        return launch
    x, y, z = (n * c for n, c in zip(launch.grid, cluster, strict=True))
    return replace(launch, grid=(x, y, z))


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
