"""Data races in device memory between blocks, and between warps of a block without a barrier."""

from __future__ import annotations

from coding_framework.cuda.executors.base import ResolvedLaunch
from coding_framework.cuda.executors.emulator.dtypes import Array, Value
from coding_framework.cuda.executors.emulator.machine.buffers import DeviceBuffer, DeviceMemory
from coding_framework.cuda.executors.emulator.machine.lanes import Lanes
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.code import Kernel


class GlobalRaces:
    def __init__(self, kernel: Kernel, launch: ResolvedLaunch, memory: DeviceMemory) -> None:
        pass

    def load(self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> None:
        pass

    def store(
        self, lanes: Lanes, index: Array, columns: list[Array], access: Access, buffer: DeviceBuffer
    ) -> None:
        pass

    def after_store(
        self, lanes: Lanes, index: Array, columns: list[Array], access: Access, buffer: DeviceBuffer
    ) -> None:
        pass

    def atomic(self, lanes: Lanes, address: Value, access: Access, buffer: DeviceBuffer) -> None:
        pass
