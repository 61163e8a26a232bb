"""What `cuda-rl optimize` shows: live progress on standard error, the result on standard output."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from coding_framework.orchestration.optimize_records import OptimizeOutcome
from coding_framework.orchestration.trajectory import Attempt, text_chart
from coding_framework.records import ConversationTurn, Evaluation, KernelTiming

MAX_DIFF_LINES = 200
_SHOWN_TURNS = 14


class ProgressView:
    """A table that grows with every turn on a terminal, one line a turn anywhere else."""

    def __init__(self, console: Console, num_turns: int, num_tries: int) -> None:
        self._console = console
        self._of = f"of {num_turns}" + (f", {num_tries} tries" if num_tries > 1 else "")
        self._turns: list[tuple[int, ConversationTurn]] = []
        self._best: KernelTiming | None = None
        self._doing = "starting"
        self._live = Live(console=console, auto_refresh=True, transient=True) if console.is_terminal else None

    def __enter__(self) -> ProgressView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def doing(self, words: str) -> None:
        """What is going on right now."""
        self._doing = words
        self._refresh()

    def add(self, number: int, turn: ConversationTurn) -> None:
        """One more turn is known."""
        self._turns.append((number, turn))
        timing = turn.evaluation.timing
        if timing is not None and (self._best is None or timing.speedup > self._best.speedup):
            self._best = timing
        if self._live is None:
            cells = _cells(number, turn)
            best = f"best {_speed(self._best)}" if self._best else "nothing correct yet"
            self._console.print("  ".join([*cells, f"({best})"]), markup=False, soft_wrap=True)
        self._refresh()

    def _refresh(self) -> None:
        if self._live is None:
            return
        table = Table(box=None, padding=(0, 2, 0, 0))
        for head in ("try", f"turn {self._of}", "agent", "verdict", "speedup", ""):
            table.add_column(head, style="dim" if head == "" else None, no_wrap=head != "")
        for number, turn in self._turns[-_SHOWN_TURNS:]:
            colour = "green" if turn.evaluation.passed else "red"
            try_, turn_, agent, verdict, speed, words = _cells(number, turn)
            table.add_row(try_, turn_, agent, Text(verdict, style=colour), speed, Text(words))
        best = Text(
            f"best so far: {_speed(self._best)}" if self._best else "nothing correct yet", style="bold"
        )
        self._live.update(Group(table, best, Spinner("dots", text=Text(self._doing))))


def _cells(number: int, turn: ConversationTurn) -> list[str]:
    evaluation = turn.evaluation
    speed = _speed(evaluation.timing) if evaluation.timing else "-"
    words = "" if evaluation.passed else _first_words(evaluation.message)
    verdict = evaluation.verdict.value.replace("_", " ")
    return [f"try {number + 1}", f"turn {turn.index + 1}", turn.agent, verdict, speed, words]


def _speed(timing: KernelTiming | None) -> str:
    return f"{timing.speedup:.2f}x {timing.kind}" if timing else "-"


def _first_words(message: str, limit: int = 90) -> str:
    line = message.strip().splitlines()[0] if message.strip() else ""
    return line if len(line) <= limit else f"{line[: limit - 2]} …"


def show_outcome(console: Console, outcome: OptimizeOutcome, attempts: list[Attempt], diff: str) -> None:
    """The best kernel with its numbers and its diff, or that there is none."""
    if outcome.best is not None and outcome.best.timing is not None:
        _show_best(console, outcome, outcome.best, outcome.best.timing)
        lines = diff.splitlines()
        shown = "\n".join(lines[:MAX_DIFF_LINES])
        console.print(Syntax(shown, "diff", background_color="default", word_wrap=True))
        if len(lines) > MAX_DIFF_LINES:
            console.print(f"… {len(lines) - MAX_DIFF_LINES} more lines in best.diff", markup=False)
    else:
        _show_nothing(console, outcome)
    for line in text_chart(attempts):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"everything is in {outcome.folder}", markup=False, soft_wrap=True)


def _show_best(console: Console, outcome: OptimizeOutcome, best: Evaluation, timing: KernelTiming) -> None:
    assert outcome.best_try is not None
    assert outcome.best_turn is not None
    console.print(Text(f"{timing.speedup:.2f}x ({timing.kind}) over the naive kernel", style="bold green"))
    interval = timing.interval_us
    spread = f" [{interval[0]:.2f} to {interval[1]:.2f}]" if interval else ""
    facts = [
        (
            "kernel",
            f"{outcome.folder / 'best.cu'} (try {outcome.best_try + 1}, turn {outcome.best_turn + 1})",
        ),
        (
            f"{timing.kind} time",
            f"{timing.median_us:.2f} us{spread}, was {timing.reference_median_us:.2f} us",
        ),
        ("on", f"{timing.device}, {' '.join(f'{k}={v}' for k, v in timing.dimensions.items())}"),
        ("speed of light", f"{timing.floor_us:.2f} us"),
        ("verified", f"twice, {len(best.checks)} checks each, hidden shapes among them"),
    ]
    if best.profile is not None:
        facts.append(("bottleneck", best.profile.bottleneck))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in facts:
        table.add_row(Text(name, style="dim"), Text(value))
    console.print(table)


def _show_nothing(console: Console, outcome: OptimizeOutcome) -> None:
    console.print(Text("nothing better found", style="bold yellow"))
    seen = outcome.best_speedup_seen
    tries = "1 try" if outcome.tries == 1 else f"{outcome.tries} tries"
    words = f"{outcome.turns} turns in {tries}, {outcome.passed} of them correct"
    if seen is not None:
        words += f"; the fastest was {seen:.2f}x, which is not faster than the naive kernel for certain"
    if outcome.unconfirmed:
        words += f"; {outcome.unconfirmed} looked faster and were not when judged again"
    console.print(words, markup=False, soft_wrap=True)
