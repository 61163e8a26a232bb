"""Run the exploit suite and the honest corpus, and write the tables of docs/exploits.md.

    python scripts/judge_table.py --executor emulator --json table.json

The tables stand between the markers `judge-table:start` and `judge-table:end` of the document, one for
each executor, so that a run on a GPU and one without do not overwrite each other. Guarantees: a fault
of the judge is a row called `fault` and the run goes on; partial results are in the JSON file after
every candidate; the exit code is 1 when any row is not as wanted. It needs the repository's tests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from coding_framework.config import JudgeConfig  # noqa: E402
from coding_framework.cuda.pool import JudgePool  # noqa: E402
from judge_suite import (  # noqa: E402
    SUFFIX,
    ExecutorName,
    Manifest,
    Row,
    archive_corpus,
    catalogue_corpus,
    cheat_row,
    honest_row,
    manifest,
    written_corpus,
)

TABLE_START, TABLE_END = "<!-- judge-table:start -->", "<!-- judge-table:end -->"
Job = Callable[[], Row]
ROWS = TypeAdapter(list[Row])


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    rows = _stored(options.render) if options.render else _judged(options)
    lines = table(rows, manifest(), options.executor)
    print("\n".join(lines))  # noqa: T201
    if options.document.exists():
        text = between_markers(options.document.read_text("utf-8"), lines, options.executor)
        _write(options.document, text)
    return 0 if all(row.as_wanted for row in rows) else 1


def _stored(paths: Sequence[Path]) -> list[Row]:
    """Rows of earlier runs; a later file replaces the rows that an earlier one has too."""
    rows: dict[str, Row] = {}
    for path in paths:
        rows |= {row.name: row for row in ROWS.validate_json(path.read_bytes())}
    return list(rows.values())


def _judged(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    config = JudgeConfig(executor=options.executor, workers=options.workers)
    with JudgePool(config) as pool:
        for row in _run(_jobs(pool, options), options.workers):
            rows.append(row)
            _show(row)
            if options.json:
                _write(options.json, ROWS.dump_json(rows, indent=1).decode())
    return rows


def table(rows: Sequence[Row], suite: Manifest, executor: ExecutorName) -> list[str]:
    """Exploit × contract with the verdicts seen, then the counts."""
    lines = ["| # | exploit | kernel | extension | module |", "|---|---|---|---|---|"]
    ruled_out = {(entry.exploit, entry.contract): entry.reason for entry in suite.impossible}
    for number, words in suite.exploit.items():
        cells = [
            _cell([row for row in rows if number in row.exploits and row.contract == contract])
            or ("ruled out" if (number, contract) in ruled_out else "not run")
            for contract in SUFFIX
        ]
        lines.append(f"| {number} | {words} | {' | '.join(cells)} |")
    return [*lines, "", *summary(rows, executor), *problems(rows)]


def summary(rows: Sequence[Row], executor: ExecutorName) -> list[str]:
    cheats = [row for row in rows if row.exploits]
    honest = [row for row in rows if not row.exploits]
    caught = sum(row.as_wanted and row.outcome != "passed" for row in cheats)
    harmless = sum(row.as_wanted and row.outcome == "passed" for row in cheats)
    missed = sum(not row.as_wanted for row in cheats)
    alarms = sum(not row.as_wanted for row in honest)
    faults = sum(row.outcome == "fault" for row in rows)
    seconds = sum(row.seconds for row in rows)
    return [
        f"On the {executor}: {len(cheats)} cheats, {caught} caught, {harmless} passed without any gain, "
        f"{missed} not stopped as stated; {len(honest)} honest candidates, {alarms} false alarms; "
        f"{faults} faults of the judge; {seconds:.0f} s of judging."
    ]


def problems(rows: Sequence[Row]) -> list[str]:
    """What is not as wanted, one line each, behind an empty one."""
    bad = [f"- `{row.name}`: {row.outcome}. {_one_line(row.message)}" for row in rows if not row.as_wanted]
    return ["", *bad] if bad else []


def between_markers(document: str, lines: Iterable[str], executor: ExecutorName) -> str:
    """The document with this executor's table in its place, the other's untouched.

    The tables stand between `judge-table:start` and `judge-table:end`; these are added at the end of a
    document that has none.
    """
    start, end = f"<!-- {executor}:start -->", f"<!-- {executor}:end -->"
    block = "\n".join([start, "", f"### On the {executor}", "", *lines, "", end])
    if start in document and end in document:
        before, _, rest = document.partition(start)
        return before + block + rest.partition(end)[2]
    if TABLE_END not in document:
        document = f"{document.rstrip()}\n\n{TABLE_START}\n{TABLE_END}\n"
    return document.replace(TABLE_END, f"{block}\n{TABLE_END}", 1)


def _cell(rows: Sequence[Row]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        words = row.outcome if row.as_wanted else f"**{row.outcome}**"
        words = "no gain" if words == "passed" else words
        counts[words] = counts.get(words, 0) + 1
    return ", ".join(f"{words} {count}" if count > 1 else words for words, count in sorted(counts.items()))


def _jobs(pool: JudgePool, options: argparse.Namespace) -> Iterator[Job]:
    executor: ExecutorName = options.executor
    for cheat in manifest().cheat:
        if cheat.verdicts(executor) and _is_wanted(cheat.name, options.only):
            yield partial(cheat_row, pool, cheat, executor)
    honest = (*catalogue_corpus(), *written_corpus(), *archive_corpus())
    for kernel in honest:
        if (kernel.emulator or executor == "gpu") and _is_wanted(kernel.name, options.only):
            yield partial(honest_row, pool, kernel)


def _is_wanted(name: str, only: str) -> bool:
    return any(part in name for part in only.split(","))


def _run(jobs: Iterable[Job], workers: int) -> Iterator[Row]:
    with ThreadPoolExecutor(workers) as threads:
        yield from threads.map(lambda job: job(), jobs)


def _show(row: Row) -> None:
    mark = "ok  " if row.as_wanted else "BAD "
    words = "" if row.as_wanted else _one_line(row.message)
    print(f"{mark} {row.name:<52} {row.outcome:<18} {row.seconds:6.1f} s  {words}", flush=True)  # noqa: T201


def _one_line(words: str) -> str:
    return " ".join(words.split())[:300]


def _write(path: Path, text: str) -> None:
    """Beside and renamed, so that a reader never sees half a file."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, "utf-8")
    partial.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--executor", choices=("emulator", "gpu"), default="emulator")
    parser.add_argument("--json", type=Path, help="write every row here")
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "exploits.md")
    parser.add_argument("--workers", type=int, default=2, help="candidates judged at the same time")
    parser.add_argument("--only", default="", help="parts of names, by comma; these alone")
    parser.add_argument("--render", type=Path, nargs="*", help="no judging: the rows of these JSON files")
    return parser


if __name__ == "__main__":
    sys.exit(main())
