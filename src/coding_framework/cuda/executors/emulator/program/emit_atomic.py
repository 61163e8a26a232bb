"""Handler of atomics: `atom` and `red`, on one element or on a vector in device memory.

The type may stand before the operation (`red.global.v4.f32.add`), as in the examples of the PTX manual.
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.dtypes import ACCESS
from coding_framework.cuda.executors.emulator.program.access import Access
from coding_framework.cuda.executors.emulator.program.emit_memory import (
    access_of,
    elements_of,
    operands_of,
)
from coding_framework.cuda.executors.emulator.program.emitter import Emitter

_OPERATIONS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
_VECTORS = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)}
"""Elements that one `add` to device memory may have, by type."""


def atomic(e: Emitter) -> None:
    """atom and red."""
    ins = e.instruction
    kind = next(part for part in reversed(ins.parts) if part in ACCESS)
    operation = next((p for p in ins.parts[1:] if p in _OPERATIONS), None)
    if operation is None:
        raise e.unsupported("operation")
    returns = ins.name == "atom"
    address, *sources = operands_of(e)[1:] if returns else operands_of(e)
    access = access_of(ins, kind, operation)
    lengths = {len(elements_of(source)) for source in sources}
    if lengths != {access.count} or (access.count > 1 and not _is_vector(access, kind, len(sources))):
        raise e.unsupported("vector")
    results = elements_of(ins.operands[0]) if returns else ()
    wants_old = any(e.is_read_somewhere(result) for result in results)
    name = e.context.bind((access, kind, wants_old))
    values = ", ".join(e.read(o, kind) for source in sources for o in elements_of(source))
    old = e.assign(f"m.atomic(L, {e.address(address)}, ({values},), {name}, {e.guard or 'None'})")
    for position, result in enumerate(results):
        e.write(result, f"{old}[{position}]", access.dtype)


def _is_vector(access: Access, kind: str, num_sources: int) -> bool:
    """Whether there is such an instruction on vectors: an `add`, and in device memory only."""
    known = access.operation == "add" and num_sources == 1 and access.count in _VECTORS.get(kind, ())
    return known and access.space in ("global", "generic")
