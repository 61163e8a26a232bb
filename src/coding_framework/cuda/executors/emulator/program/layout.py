"""Where variables lie: addresses of every space, fixed when a kernel is translated.

Buffers and module variables each own a window of `WINDOW` bytes, so any overrun leaves its window's
used part and is caught exactly. Shared and local addresses are offsets; as generic addresses they
carry the base of their space.
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.program.code import Name
from coding_framework.cuda.executors.emulator.program.flatten import Flattener
from coding_framework.cuda.executors.emulator.ptx import Module, Variable
from coding_framework.cuda.executors.emulator.ptx.model import TYPE_BYTES

WINDOW_BITS = 40
WINDOW = 1 << WINDOW_BITS
FIRST_BUFFER = 16
FIRST_MODULE_VARIABLE = 1 << 12
SHARED_BASE = 1 << 56
LOCAL_BASE = 1 << 57
PARAMETER_BASE = 1 << 58


def buffer_base(index: int) -> int:
    """Address of the index-th buffer of a request."""
    return (FIRST_BUFFER + index) << WINDOW_BITS


def module_variable_base(index: int) -> int:
    """Address of the index-th global or constant variable of a module."""
    return (FIRST_MODULE_VARIABLE + index) << WINDOW_BITS


def device_variables(module: Module) -> list[Variable]:
    """Global and constant variables, in the order that gives them their addresses."""
    return [v for v in module.variables if v.space in ("global", "const")]


def align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


class Layout:
    """Addresses of a kernel's symbols."""

    def __init__(self, module: Module, code: Flattener) -> None:
        self._addresses: dict[str, int] = {
            v.name: module_variable_base(i) for i, v in enumerate(device_variables(module))
        }
        self.shared_names: set[str] = set()
        self.static_shared_bytes = 0
        self.local_bytes = 0
        self._local: dict[Name, int] = {}
        self._place_shared(module, code)
        self._place_local(code)

    def _place_shared(self, module: Module, code: Flattener) -> None:
        shared = [v for v in module.variables if v.space == "shared"]
        shared += [v for f in code.instances for v in f.variables if v.space == "shared"]
        for variable in shared:
            if variable.count != 0 and variable.name not in self.shared_names:
                offset = align(self.static_shared_bytes, variable.alignment)
                self._addresses[variable.name] = offset
                self.static_shared_bytes = offset + variable.num_bytes
            self.shared_names.add(variable.name)
        self.dynamic_shared_offset = align(self.static_shared_bytes, 16)
        for variable in shared:
            if variable.count == 0:
                self._addresses[variable.name] = self.dynamic_shared_offset

    def _place_local(self, code: Flattener) -> None:
        for instance, function in enumerate(code.instances):
            for variable in function.variables:
                if variable.space == "local":
                    self.place_local((instance, variable.name), variable.num_bytes, variable.alignment)
        self.local_bytes = align(self.local_bytes, 16)

    def place_local(self, name: Name, num_bytes: int, alignment: int) -> int:
        """Give a variable a place in the thread's local memory."""
        offset = align(self.local_bytes, max(alignment, 8))
        self._local[name] = offset
        self.local_bytes = offset + num_bytes
        return offset

    def address(self, name: Name) -> int | None:
        """The address of a symbol as its own space sees it; None if there is no such variable."""
        if name in self._local:
            return self._local[name]
        return self._addresses.get(name[1])


def parameter_offsets(parameters: tuple[Variable, ...]) -> tuple[tuple[int, ...], int]:
    """Byte offset of each kernel parameter, and the size of them all."""
    offsets: list[int] = []
    end = 0
    for parameter in parameters:
        offset = align(end, max(parameter.alignment, TYPE_BYTES[parameter.type]))
        offsets.append(offset)
        end = offset + parameter.num_bytes
    return tuple(offsets), end
