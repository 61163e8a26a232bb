"""A whole data set: the pairs that SFT is to learn from, in a file, with its card beside it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from coding_framework import __version__
from coding_framework.config import FrameworkConfig
from coding_framework.data.data_pipeline import CUDADataPipeline
from coding_framework.data.pair_files import preferred_suffix, write_pairs
from coding_framework.data.pair_records import BuildOptimizerPrompt, BuildPrompt, RejectedDraft, SFTPair
from coding_framework.data.pairs.card import CardFacts, card
from coding_framework.data.pairs.journal import Journal
from coding_framework.data.pairs.known import known_families
from coding_framework.data.pairs.making import MadePairs, OnSettled
from coding_framework.data.pairs.workshop import Workshop, kinds_of, open_workshop
from coding_framework.data.sources.overlap import open_held_out
from coding_framework.data.sources.sourced import CATALOGUE
from coding_framework.data.tasks.split import catalogue_tasks, held_out_names
from coding_framework.errors import StorageError

__all__ = ["Outcome", "make_dataset", "write_dataset"]

Outcome = SFTPair | RejectedDraft
CARD_NAME = "pairs.md"
JOURNAL_NAME = "pairs.journal.jsonl"


def make_dataset(
    config: FrameworkConfig,
    folder: Path,
    build_prompt: BuildPrompt,
    build_optimizer_prompt: BuildOptimizerPrompt,
    on_settled: OnSettled | None = None,
) -> tuple[Path, MadePairs]:
    """Judged pairs in `folder`: `sft.pairs` in all, or `sft.pairs_per_family` of each family.

    Tasks come in the order of the data pipeline. What a run that was ended before had settled is not judged
    again.
    """
    data = CUDADataPipeline.from_config(config, by_curriculum=False)
    own = {task.name: task for task in catalogue_tasks(config.tasks)}
    names = (example.task.name for example in data.get_training_batch(len(data.tasks)))
    tasks = [own[name] for name in names if name in own]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL_NAME
    with open_workshop(
        config.judge,
        tasks,
        partial(open_held_out, config.tasks),
        config.run.seed,
        build_prompt,
        build_optimizer_prompt,
        agents=config.sft.agents,
        known=known_families(config.tasks, kinds_of(config.sft.agents)),
        with_templates=CATALOGUE in config.tasks.sources,
    ) as workshop:
        settings = "\0".join((__version__, config.judge.model_dump_json(), *held_out_names(config.tasks)))
        journal = Journal(path, workshop.settler, settings)
        made = workshop.make(workshop.wanted(config.sft), on_settled, journal.settle)
        facts = card_facts(workshop, config)
    written = write_dataset(folder, made, facts)
    path.unlink(missing_ok=True)
    return written, made


def card_facts(workshop: Workshop, config: FrameworkConfig) -> CardFacts:
    held_out = workshop.settler.held_out
    return CardFacts(
        seed=config.run.seed,
        wanted=f"{config.sft.pairs:,} pairs with short answers"
        if config.sft.pairs is not None
        else f"{config.sft.pairs_of_a_family:,} pairs of each family",
        held_out_families=tuple(sorted(held_out.families)),
        held_out_tasks=tuple(sorted(held_out.task_names)),
        executor=config.judge.executor,
        architecture=config.judge.architecture,
        hit_rates=workshop.hit_rates,
    )


def write_dataset(folder: Path, made: MadePairs, facts: CardFacts) -> Path:
    """Parquet where pyarrow is there, else JSON lines; the card comes first, the pairs last."""
    path = folder / f"pairs{preferred_suffix()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{CARD_NAME}.partial"
        partial.write_text(card(made, facts), encoding="utf-8")
        partial.replace(folder / CARD_NAME)
    except OSError as error:
        raise StorageError(f"the card could not be written to {folder}: {error}") from error
    write_pairs(path, made.pairs)
    return path
