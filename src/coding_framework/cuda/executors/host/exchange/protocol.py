"""What the judge and the child say to each other, and how it is framed.

Towards the child: pickled dataclasses of this module (we trust what we send). From the child: JSON
of a bounded length, and nothing in it is believed beyond what harms the candidate itself: a problem
it admits to, a time it claims. Verdicts come from memory that the verifier reads and from the
judge's clock. Every request carries a random token that the answer repeats, so that an answer to
something else, or one written ahead of time, is not taken for it.

Frames are a little-endian 32-bit length and as many bytes. No torch, no pydantic: the child imports this.
"""

from __future__ import annotations

import json
import pickle
import struct
from dataclasses import dataclass
from typing import Any, Literal

from coding_framework.cuda.executors.host.exchange.layout import ArenaLayout

LENGTH = struct.Struct("<I")
MAX_REPLY_BYTES = 1_000_000
MAX_WORDS = 2000
"""Characters of an error text that the child passes on."""

Problem = Literal[
    "no_class",
    "compile",
    "raised",
    "state",
    "type",
    "count",
    "shape",
    "dtype",
    "device",
    "aliased",
    "processes",
]
"""What the child itself can find wrong with a candidate."""


@dataclass(frozen=True)
class ArenaHandle:
    """How the other process gets at the exchange memory."""

    kind: Literal["file", "cuda_ipc"]
    reference: bytes
    """A path, or the driver's 64-byte handle."""
    num_bytes: int


@dataclass(frozen=True)
class ArgumentSource:
    """Where one argument of an extension's `forward` comes from."""

    kind: Literal["input", "parameter", "parameters", "value"]
    index: int = 0
    indices: tuple[int, ...] = ()
    value: object = None


@dataclass(frozen=True)
class Load:
    """Take this candidate in; sent once."""

    token: str
    contract: Literal["extension", "module"]
    class_name: str
    """`ModelNew`, or `Model` for the reference."""
    source: str
    """Python source (contract `module`)."""
    shared_object: bytes = b""
    """Built extension (contract `extension`)."""
    header: Literal["light", "full"] = "light"
    module_name: str = ""
    device: str = "cuda"
    single_thread: bool = False
    """Whether no thread may be started from now on."""


@dataclass(frozen=True)
class Open:
    """Map the exchange memory of one shape; sent before the candidate is, so a failure is ours."""

    token: str
    name: str
    arena: ArenaHandle
    layout: ArenaLayout


@dataclass(frozen=True)
class Configure:
    """Make an instance for one shape whose memory is open."""

    token: str
    name: str
    init_inputs: bytes
    """A pickled tuple: it may hold tensors, which the judge has no use for."""
    init_seed: int
    """Seed before construction, so that modules which draw in the same order start out alike."""
    arguments: tuple[ArgumentSource, ...] = ()
    """For `extension` alone."""


@dataclass(frozen=True)
class Settle:
    """Everything is compiled: from now on no program may be started either."""

    token: str


@dataclass(frozen=True)
class Run:
    """Call the instance once, on this set."""

    token: str
    name: str
    set_index: int
    flush_value: int
    """The byte that the set's flush region is to be filled with; the verifier looks for it."""


@dataclass(frozen=True)
class Rehearse:
    """Get the profiler ready and say whether it sees a kernel of ours; sent before the candidate is."""

    token: str
    device: str


@dataclass(frozen=True)
class Profile:
    """Call once like `Run`, under the profiler, and report device time by kernel name."""

    token: str
    name: str
    set_index: int
    flush_value: int


Request = Open | Rehearse | Load | Configure | Settle | Run | Profile


def pack_request(request: Request) -> bytes:
    """A frame for the child."""
    body = pickle.dumps(request, protocol=5)
    return LENGTH.pack(len(body)) + body


def pack_reply(reply: dict[str, Any]) -> bytes:
    """A frame for the judge."""
    body = json.dumps(reply).encode()
    return LENGTH.pack(len(body)) + body


def unpack_reply(body: bytes) -> dict[str, Any]:
    """Raises ValueError for anything that is not a JSON object."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(reply, dict):
        raise ValueError("not a JSON object")
    return reply


def cut(text: str) -> str:
    """The end of a long text: the last words of a traceback say most."""
    return text if len(text) <= MAX_WORDS else "…" + text[-MAX_WORDS:]
