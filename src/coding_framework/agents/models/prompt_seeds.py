"""Seeds that repeat a run: they depend on the prompt and how often it was asked, never on timing."""

from __future__ import annotations

import hashlib
from collections import Counter


class PromptSeeds:
    """The n-th request with the same prompt gets the same seed in every run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._occurrences: Counter[bytes] = Counter()

    def next(self, prompt: object, *, bits: int = 64, own: int | None = None) -> int:
        """A seed of at most `bits` bits; the prompt is known by its `repr`.

        A request with a seed of its `own` gets the same one in every process, however often it was asked.
        """
        digest = hashlib.sha256(repr(prompt).encode(errors="surrogatepass")).digest()
        if own is None:
            self._occurrences[digest] += 1
        which = f"own {own}" if own is not None else str(self._occurrences[digest])
        material = f"{self._seed}:{digest.hex()}:{which}"
        number = int.from_bytes(hashlib.sha256(material.encode()).digest()[:8], "little")
        return number & ((1 << bits) - 1)
