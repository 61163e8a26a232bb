"""What memory holds that nobody wrote: something else in every word, every buffer and every run.

With one pattern everywhere a kernel could read a word that it never wrote and subtract it from all others,
so that sums came out right in memory that it never cleared. Every word is a quiet NaN as float32 and, in its
upper half, as float16 and bfloat16; as int32 it is right by chance alone.

Not promised: that no two words are equal by chance (one pair in eight million is).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

QUIET_NAN = 0x7FC00000
_SLACK = 1 << 14
_HALF_NAN = np.uint16(QUIET_NAN >> 16)


def nan_word(bits: int) -> int:
    """One such word, of 32 random bits."""
    return QUIET_NAN | bits & 0xFFFFFFFF


class Unwritten:
    """A stream of such words; the same secret and place give the same ones."""

    def __init__(self, secret: int, place: str = "") -> None:
        self.secret = secret
        self._bits = np.random.SFC64(np.random.SeedSequence([secret, int.from_bytes(place.encode())]))
        self._pool = np.empty(0, dtype=np.uint32)

    def words(self, count: int) -> npt.NDArray[np.uint32]:
        """The next words."""
        found = self._raw(4 * count).view(np.uint32)[:count]
        found |= np.uint32(QUIET_NAN)
        return found

    def words_of_chunk(self, count: int) -> npt.NDArray[np.uint32]:
        """For one chunk of blocks after the other: from a secret place of a pool, which is twice as fast."""
        if self._pool.size < count + _SLACK:
            self._pool = self.words(count + _SLACK)
        start = int(self._bits.random_raw()) % _SLACK
        return self._pool[start : start + count].copy()

    def halves(self, count: int) -> npt.NDArray[np.uint16]:
        """The next ones of 16 bits, each a NaN of its own."""
        found = self._raw(2 * count).view(np.uint16)[:count]
        found |= _HALF_NAN
        return found

    def _raw(self, num_bytes: int) -> npt.NDArray[np.uint64]:
        return np.asarray(self._bits.random_raw(-(-num_bytes // 8)), dtype=np.uint64)
