"""The card that lies beside a set of pairs: what is in it, how it was judged, what is kept out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from coding_framework.data.pair_records import SFTPair
from coding_framework.data.pairs.making import HitRates, MadePairs
from coding_framework.records import Record

_PACKAGES = ("coding_framework", "nvidia-cuda-nvrtc", "numpy", "pyarrow")


class CardFacts(Record):
    """What the pairs themselves do not tell."""

    seed: int
    """Of the drafts."""
    wanted: str
    """How many pairs of what."""
    held_out_families: tuple[str, ...]
    """Never trained on."""
    held_out_tasks: tuple[str, ...]
    """Nor these."""
    executor: str
    """What ran the kernels."""
    architecture: str
    """What was compiled for."""
    hit_rates: HitRates
    """What was shared."""


def card(made: MadePairs, facts: CardFacts) -> str:
    """Markdown."""
    pairs = made.pairs
    kinds = sorted({pair.time_kind for pair in pairs}) or ["modelled"]
    families = Counter(pair.family for pair in pairs)
    sections = (
        "# Pairs for supervised fine-tuning",
        f"{len(pairs):,} prompts with their answers, made from seed {facts.seed} in {made.seconds:,.0f} s.",
        "## How they were judged",
        _judged_words(facts, kinds),
        "## What is in it",
        _table("tier", "pairs", _sorted(Counter(str(pair.tier) for pair in pairs))),
        _table("kind", "pairs", _sorted(Counter(pair.kind for pair in pairs))),
        _table("family", "pairs", _sorted(families)),
        _short_words(made, facts),
        "## What was dropped",
        _table("reason", "drafts", _sorted(Counter(made.rejected))),
        "## What is kept out",
        _held_out_words(facts),
        "## Speedups over the naive kernel",
        _speedup_words(pairs, kinds),
        "## Versions",
        _table("package", "version", ((name, _version(name)) for name in _PACKAGES)),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _judged_words(facts: CardFacts, kinds: Sequence[str]) -> str:
    rates = facts.hit_rates
    asked = rates.judged_in_full + rates.shared + rates.remembered
    return (
        f"Every answer passed the judge (executor `{facts.executor}`, compiled for `{facts.architecture}`): "
        f"contract, safety, compiler, visible and hidden shapes, time. Times are {' and '.join(kinds)}. "
        f"Of {asked:,} questions to the judge {rates.judged_in_full:,} were judged in full; "
        f"{rates.shared:,} ({_share(rates.shared, asked)}) compiled to PTX and a launch plan that had passed "
        f"under another text and share that verdict; {rates.remembered:,} repeated a text. Of "
        f"{rates.compiled:,} compilations {rates.from_cache:,} ({rates.cache_rate:.0%}) were in the compile "
        "cache. An answer whose task has other names than the catalogue's was judged under the original's; "
        "its own text has the same plan and the same tokens, or the same PTX, up to those names. The kernel "
        "in a repair prompt was rejected by the judge as it stands there; in an optimisation prompt it "
        "passed, and the answer is at least 2 % faster."
    )


def _short_words(made: MadePairs, facts: CardFacts) -> str:
    if not made.short:
        return f"Wanted were {facts.wanted}; they are all here."
    short = ", ".join(f"{name} ({count:,})" for name, count in sorted(made.short.items()))
    return f"Wanted were {facts.wanted}; fewer were found for {short}."


def _held_out_words(facts: CardFacts) -> str:
    return (
        f"Families: {', '.join(facts.held_out_families)}. "
        f"Tasks: {', '.join(facts.held_out_tasks) or 'none'}. "
        "No pair belongs to them by family, task or formula, computes what they compute on drawn numbers, or "
        "has the code or the PTX of one of their kernels."
    )


def _speedup_words(pairs: Iterable[SFTPair], kinds: Sequence[str]) -> str:
    speedups = sorted(pair.speedup for pair in pairs)
    if not speedups:
        return "No pairs."
    middle, last = speedups[len(speedups) // 2], speedups[-1]
    return f"Median {middle:.2f}, largest {last:.2f} ({' and '.join(kinds)} times)."


def _table(left: str, right: str, rows: Iterable[tuple[str, object]]) -> str:
    lines = [
        f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value} |"
        for name, value in rows
    ]
    return "\n".join([f"| {left} | {right} |", "|---|---:|", *lines]) if lines else "None."


def _sorted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items())


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "none"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
