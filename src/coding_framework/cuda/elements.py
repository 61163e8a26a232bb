"""Element types in host memory: how a number becomes an element, and an element a number.

Guarantees: `decode_elements(encode_elements(x, t), t)` is x rounded once to the type t (to nearest,
ties to even), and decoding is exact. bfloat16 has no NumPy type and is held as its 16 bits; it is
reached through float32, as hardware reaches it. It does not know tasks, tolerances or oracles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coding_framework.cuda.contract import numpy_dtype
from coding_framework.cuda.executors.base import Buffer
from coding_framework.cuda.executors.unwritten import Unwritten, nan_word
from coding_framework.cuda.secrecy import Secrets

Floats = npt.NDArray[np.float64]
BFLOAT16_NAN = np.uint16(0x7FFF)
ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int32": 4}


def fresh_poison() -> int:
    """A secret word for outputs that nobody wrote, where a GPU fills them with one; see `unwritten.py`."""
    return nan_word(Secrets().bits(32))


def encode_elements(values: Floats, dtype: str) -> Buffer:
    """Numbers into elements; whole numbers for int32, which holds neither NaN nor infinity."""
    if dtype == "bfloat16":
        return _to_bfloat16(values.astype(np.float32))
    if dtype == "int32":
        limits = np.iinfo(np.int32)
        whole = np.nan_to_num(np.rint(values), nan=0.0, posinf=limits.max, neginf=limits.min)
        return np.asarray(np.clip(whole, limits.min, limits.max), dtype=np.int32)
    with np.errstate(over="ignore"):
        return values.astype(numpy_dtype(dtype))


def decode_elements(elements: Buffer, dtype: str) -> Floats:
    """Elements into float64, which holds every one of them exactly."""
    wide = elements
    if dtype == "bfloat16":
        wide = (elements.astype(np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN that a kernel wrote
        return wide.astype(np.float64)


def poison(dtype: str, count: int, secret: int, name: str = "") -> Buffer:
    """A buffer as it looks before anyone wrote it."""
    kind, unwritten = numpy_dtype(dtype), Unwritten(secret, name)
    return (unwritten.halves(count) if kind.itemsize == 2 else unwritten.words(count)).view(kind)


def _to_bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    bits = values.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    upper = (rounded >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(values), BFLOAT16_NAN, upper).astype(np.uint16)
