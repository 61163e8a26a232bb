"""What `ptxas -v` says about each kernel, and what the PTX itself says about their names."""

from __future__ import annotations

import re

from coding_framework.cuda.toolchain.occupancy import theoretical_occupancy
from coding_framework.records.compilation import KernelResources

_ENTRY = re.compile(r"^\s*(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def entry_names(ptx: str) -> tuple[str, ...]:
    """Names of the kernels in the PTX, as the linker sees them."""
    return tuple(_ENTRY.findall(ptx))


def parse_resources(log: str, architecture: str = "") -> dict[str, KernelResources]:
    """Kernel → resources, from the verbose output of ptxas; occupancy where the architecture is known."""
    found: dict[str, KernelResources] = {}
    pieces = _COMPILING.split(log)
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        registers = _REGISTERS.search(text)
        if registers is not None:
            found[name] = _resources(name, int(registers[1]), text, architecture)
    return found


def _resources(name: str, registers: int, text: str, architecture: str) -> KernelResources:
    # Several device functions may follow one entry; its own frame comes first.
    frame, stores, loads = _STACK.search(text).groups() if _STACK.search(text) else (0, 0, 0)  # type: ignore[union-attr]
    found = _SHARED.search(text)
    shared_bytes = int(found[1]) if found else 0
    return KernelResources(
        kernel=name,
        registers=registers,
        static_shared_bytes=shared_bytes,
        local_bytes=int(frame),
        spill_store_bytes=int(stores),
        spill_load_bytes=int(loads),
        theoretical_occupancy=theoretical_occupancy(registers, shared_bytes, architecture),
    )


def plain_name(mangled: str) -> str | None:
    """`foo` for `_Z3fooPf` or `_ZN2ns3fooEPf`; None when the name is not mangled."""
    return None if (split := _split(mangled)) is None else split[0]


def is_template(mangled: str) -> bool:
    """Whether it names an instance of a template."""
    return (split := _split(mangled)) is not None and split[1].startswith("I")


def _split(mangled: str) -> tuple[str, str] | None:
    """The last part of the name, and what follows: template arguments, then types of parameters."""
    if not mangled.startswith("_Z"):
        return None
    is_nested = mangled.startswith("_ZN")
    rest, name = mangled[2:].removeprefix("N").removeprefix("L"), mangled
    while match := re.match(r"(\d+)", rest):
        start, length = match.end(), int(match[1])
        name, rest = rest[start : start + length], rest[start + length :]
        if not is_nested:
            break
    return name, rest
