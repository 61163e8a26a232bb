"""Pairs by the family, in a Parquet file with a card."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

from coding_framework.data.pair_files import preferred_suffix, read_pairs, write_pairs
from coding_framework.data.pair_records import RejectedDraft, SFTPair, agent_of
from coding_framework.data.pairs.card import CardFacts, card
from coding_framework.data.pairs.dataset import CARD_NAME, write_dataset
from coding_framework.data.pairs.drafts import CatalogueDraft, families
from coding_framework.data.pairs.journal import Journal
from coding_framework.data.pairs.making import HitRates, MadePairs, Wanted, make_pairs
from coding_framework.data.pairs.settling import JUDGE_FAULT
from coding_framework.data.tasks import get_task
from coding_framework.errors import MissingExtraError, UserError
from coding_framework.records import Candidate, Message, Verdict

FACTS = CardFacts(
    seed=3,
    wanted="4 pairs of each family",
    held_out_families=("blend", "scan"),
    held_out_tasks=("scale",),
    executor="emulator",
    architecture="sm_90",
    hit_rates=HitRates(judged_in_full=25, shared=70, remembered=5, compiled=200, from_cache=20),
)


def as_pair(draft: CatalogueDraft) -> SFTPair:
    """A pair without asking a judge: for counting only."""
    return SFTPair(
        task=draft.task.name,
        agent=agent_of(draft.kind),
        messages=(Message(role="user", content=draft.task.prompt),),
        answer=f"```cuda\n{draft.answer.kept.strip()}\n```",
        source=draft.answer.kept,
        family=draft.original.family,
        formula=draft.formula,
        verdict=Verdict.PASSED,
        speedup=1.5,
        digest=Candidate(source=draft.answer.kept).digest,
        kind=draft.kind,
        tier=draft.original.tier,
        original=draft.original.name,
        variant=draft.variant,
        mistake=draft.mistake,
    )


def two_families(each: int = 4) -> list[Wanted]:
    chosen = families([get_task("matmul"), get_task("transpose")])
    return [(family, each) for family in chosen if family.name in ("matrix_product", "transpose")]


@pytest.fixture
def made() -> MadePairs:
    return make_pairs(two_families(), 3, as_pair)


def test_every_family_gets_as_many_as_were_wanted(made: MadePairs) -> None:
    assert [pair.family for pair in made.pairs].count("transpose") == 4
    assert len(made.pairs) == 8
    assert made.short == {}
    assert made.count(tier=1) == 4
    assert made.count(kind="repair") == 2


def test_pairs_are_the_same_however_many_are_settled_at_a_time(made: MadePairs) -> None:
    assert make_pairs(two_families(), 3, as_pair, workers=5).pairs == made.pairs


def test_a_family_that_cannot_give_enough_is_named_and_the_reasons_are_counted() -> None:
    numbers = count()

    def mostly_rejected(draft: CatalogueDraft) -> SFTPair | RejectedDraft:
        if draft.original.family == "transpose" and next(numbers) > 2:
            return RejectedDraft(task=draft.task.name, reason="wrong_result", message="")
        return as_pair(draft)

    made = make_pairs(two_families(6), 3, mostly_rejected, workers=1)
    assert made.short == {"transpose": 3}
    assert made.rejected["wrong_result"] > 100


def test_an_interruption_ends_it_at_once() -> None:
    seen: list[object] = []

    def stop(outcome: object) -> None:
        seen.append(outcome)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_pairs(two_families(100), 3, as_pair, on_settled=stop)
    assert len(seen) == 3


def test_pairs_come_back_from_parquet_as_they_went_in(tmp_path: Path, made: MadePairs) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "pairs.parquet"
    assert write_pairs(path, made.pairs) == 8
    assert read_pairs(path) == made.pairs
    assert [entry.name for entry in tmp_path.iterdir()] == ["pairs.parquet"]


def test_parquet_has_one_column_a_field_and_messages_as_chat_templates_take_them(
    tmp_path: Path, made: MadePairs
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_pairs(tmp_path / "pairs.parquet", made.pairs)
    table = parquet.read_table(tmp_path / "pairs.parquet")
    assert set(table.column_names) == set(SFTPair.model_fields)
    assert table.to_pylist()[0]["messages"][0]["role"] == "user"


def test_a_torn_parquet_file_is_the_users_error(tmp_path: Path, made: MadePairs) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "pairs.parquet"
    write_pairs(path, made.pairs)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match="cannot be read"):
        read_pairs(path)


def test_without_pyarrow_json_lines_are_written_and_parquet_says_what_to_install(
    tmp_path: Path, made: MadePairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coding_framework.data.pair_files.find_spec", lambda name: None)
    assert preferred_suffix() == ".jsonl"
    assert write_dataset(tmp_path, made, FACTS).name == "pairs.jsonl"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"coding_framework\[train\]"):
        write_pairs(tmp_path / "pairs.parquet", made.pairs)


def test_the_card_lies_beside_the_pairs_and_tells_what_they_are(tmp_path: Path, made: MadePairs) -> None:
    path = write_dataset(tmp_path, made, FACTS)
    assert read_pairs(path) == made.pairs
    words = (tmp_path / CARD_NAME).read_text()
    assert words == card(made, FACTS)
    for expected in (
        "8 prompts with their answers, made from seed 3",
        "Times are modelled",
        "25 were judged in full; 70 (70%)",
        "| transpose | 4 |",
        "| repair | 2 |",
        "Families: blend, scan. Tasks: scale.",
        "coding_framework",
    ):
        assert expected in words


def test_the_card_names_the_families_that_fell_short(made: MadePairs) -> None:
    short = made.model_copy(update={"short": {"transpose": 2}, "rejected": {"data_race": 7}})
    words = card(short, FACTS)
    assert "fewer were found for transpose (2)" in words
    assert "| data_race | 7 |" in words


class CountingSettler:
    """Keeps every draft but every third; counts what it was asked."""

    def __init__(self, stop_after: int = 10**6) -> None:
        self.asked: list[str] = []
        self.stop_after = stop_after

    def settle(self, draft: CatalogueDraft) -> SFTPair | RejectedDraft:
        if len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(draft.answer.kept)
        if len(self.asked) == 2:
            return RejectedDraft(task=draft.task.name, reason=JUDGE_FAULT, message="lost")
        if draft.kind == "repair":
            return RejectedDraft(task=draft.task.name, reason="mistake passes", message="")
        return as_pair(draft)


def settled(path: Path, settler: CountingSettler, settings: str = "a") -> MadePairs:
    return make_pairs(two_families(), 3, Journal(path, settler, settings).settle, workers=1)


def test_what_was_settled_before_a_crash_is_not_settled_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    whole_asked = CountingSettler()
    whole = settled(tmp_path / "other.jsonl", whole_asked)
    with pytest.raises(KeyboardInterrupt):
        settled(path, CountingSettler(stop_after=6))
    with path.open("a") as file:
        file.write('{"key": "half a li')
    again = CountingSettler()
    made = settled(path, again)
    known = len(whole_asked.asked) - len(again.asked)
    assert known == 5, "six were settled, and a fault of the judge is not kept"
    assert len(made.pairs) == len(whole.pairs) == 8
    third = CountingSettler()
    assert settled(path, third).pairs == made.pairs
    assert len(third.asked) <= 1, "at most the fault of ours"


def test_a_journal_of_other_settings_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, other = CountingSettler(), CountingSettler()
    settled(path, first)
    settled(path, other, settings="b")
    assert other.asked == first.asked
