"""One candidate's child, and everything that is asked of it: checks and timed blocks, interleaved."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import monotonic
from typing import TypeVar

from coding_framework.cuda.executors.host.bench import BASE, Examined, TaskBench
from coding_framework.cuda.executors.host.channel import ChildEnded, ChildFault
from coding_framework.cuda.executors.host.clocks import Block
from coding_framework.cuda.executors.host.rejection import find_fault, reject_fault, reject_problem
from coding_framework.cuda.executors.host.session import CandidateProblem, ChildSession, Program
from coding_framework.cuda.executors.host.timing import hold
from coding_framework.cuda.executors.host.verifier.drawing import SetDistribution
from coding_framework.cuda.executors.host.verifier.records import SetFill, SetReport
from coding_framework.cuda.rejection import Rejected
from coding_framework.records import ShapeCheck, Verdict, WrongElement

_Answer = TypeVar("_Answer")
MAX_ROUNDS = 3
_MARGIN_S = 600.0
"""A child also lives while the reference is started and the verifier works; its own runs have limits."""


class Trial:
    """The candidate in its sandbox. Every method raises `Rejected` when it has failed."""

    def __init__(self, bench: TaskBench) -> None:
        self._bench, self._config, self._settings = bench, bench.config, bench.settings
        self.checks: list[ShapeCheck] = []
        self.notes: list[str] = []
        self._session: ChildSession | None = None
        self._program: Program | None = None
        self.start_over()

    def start_over(self) -> None:
        """As if nothing had been asked yet."""
        self.close()
        bench, self._session, self._program = self._bench, None, None
        self.checks, self.notes = [], []
        self.num_planned = 1 + len(bench.hidden) + len(bench.base.distributions) - 1 + self._settings.blocks
        self._spent_s = 0.0

    @property
    def sees_kernels(self) -> bool:
        """Whether a profiler was asked for, and works here."""
        return self._session is not None and self._session.sees_kernels

    def load(self, program: Program, *, is_profiled: bool = False) -> None:
        """Start the child, take the candidate in, make the instance for the task's own shape."""
        settings = self._settings
        wall_s = (
            settings.start_timeout_s + 2 * settings.load_timeout_s + self._config.total_timeout_s + _MARGIN_S
        )
        names = (BASE, *(name for name, _ in self._bench.hidden))
        session = self._bench.start_child(wall_s=wall_s, names=names, is_profiled=is_profiled)
        self._session, self._program = session, program
        limit_s = settings.load_timeout_s
        self._ask(lambda: session.load(program, settings.device, limit_s), "loading it", limit_s)
        self._configure(BASE, hidden=False)

    def check_shapes(self) -> None:
        """The task's own shape first, then the hidden ones."""
        self.check(BASE, "normal", constants={})
        for position, (name, constants) in enumerate(self._bench.hidden):
            usable = self._bench.shapes[name].distributions
            self._configure(name, hidden=True)
            self.check(name, usable[position % len(usable)], constants=constants)

    def settle(self) -> None:
        """Before it is timed: nothing of it runs beside the process that is asked."""
        session, limit_s = self._session, self._settings.start_timeout_s
        assert session is not None
        self._ask(lambda: session.settle(limit_s), "getting ready to be timed", limit_s)

    def time_blocks(self, *, patience_s: float = 0.0) -> tuple[list[Block], list[Block]]:
        """Timed blocks of candidate and reference in turn, with the other distributions' checks between.

        While the clocks disagree there are more, `MAX_ROUNDS` times as many and for `patience_s` at least.
        """
        started = monotonic()
        blocks = self._settings.blocks
        mine: list[Block] = []
        reference: list[Block] = []
        for number in count():
            if number and number % blocks == 0:
                held = hold(self._settings, mine, reference)
                is_over = number >= MAX_ROUNDS * blocks and monotonic() - started >= patience_s
                if is_over or held.agree:
                    break
                self.num_planned += blocks
            mine.append(self._block())
            reference.append(self._reference_block())
            self._check_after_block(number)
        return mine, reference

    def approach_timed_call(self) -> None:
        """What comes before one of the calls of `time_blocks`, and nobody knows before which."""
        for number in range(self._bench.pick(self._settings.blocks)):
            self._block()
            self._check_after_block(number)
        calls = self._bench.pick(self._bench.calls_per_block)
        if calls:
            self._block(calls)

    def _check_after_block(self, number: int) -> None:
        """The other distributions are spread over the blocks of the first round."""
        others = [kind for kind in self._bench.base.distributions if kind != "normal"]
        blocks = self._settings.blocks
        for kind in others[number::blocks] if number < blocks else ():
            self.check(BASE, kind, constants={})

    def check(self, name: str, distribution: SetDistribution, *, constants: dict[str, int]) -> None:
        """Two calls on the same secret contents in different memory."""
        fills = self._bench.fills(name, 2, distribution, repeat=True)
        examined = self._run(name, fills)
        self._judge(examined.reports, fills, constants, hidden=name != BASE)
        if any(report.differs for report in examined.reports):
            self._note("two runs on the same inputs differ in their last bits (both within the budget)")

    def profile(self, limit_s: float) -> dict[str, float]:
        """Device time by kernel of one call, as the child tells it; its result is judged like any other."""
        session, bench = self._session, self._bench
        assert session is not None
        fills = bench.fills(BASE, 1, bench.timed_distribution)
        seen, reports = self._ask(
            lambda: bench.profile(session, BASE, fills[0], limit_s), "running on the task", limit_s
        )
        self._judge(reports, fills, {}, hidden=False)
        if seen.early:
            raise Rejected(
                Verdict.CLOCKS_DISAGREE,
                f"`{seen.early}` runs before its turn on the current stream has come, outside the time that "
                "is taken: launch on the current stream, or let your own stream wait for it",
            )
        return seen.time_us

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _block(self, calls: int | None = None) -> Block:
        bench = self._bench
        fills = bench.fills(BASE, calls or bench.calls_per_block, bench.timed_distribution)
        examined = self._run(BASE, fills)
        self._judge(examined.reports, fills, {}, hidden=False)
        return examined.block

    def _reference_block(self) -> Block:
        """The reference's calls, while the candidate is stopped: it cannot make them look slow."""
        assert self._session is not None
        self._session.freeze()
        try:
            return self._bench.reference_block()
        finally:
            self._session.thaw()

    def _configure(self, name: str, *, hidden: bool) -> None:
        session, program = self._session, self._program
        assert session is not None
        assert program is not None
        limit_s = self._settings.load_timeout_s
        facts = self._bench.shapes[name]
        self._ask(
            lambda: session.configure(name, facts, program, limit_s),
            "constructing it",
            limit_s,
            hidden=hidden,
        )

    def _run(self, name: str, fills: tuple[SetFill, ...]) -> Examined:
        session = self._session
        assert session is not None
        left_s = self._config.total_timeout_s - self._spent_s
        too_slow = Rejected(
            Verdict.TIMEOUT,
            f"all runs together took over {self._config.total_timeout_s:g} s: it is far too slow",
        )
        if left_s <= 0:
            raise too_slow
        limit_s = min(self._config.run_timeout_s, left_s)
        hidden = name != BASE
        doing = f"running on {'a hidden shape' if hidden else 'the task'}"
        try:
            examined = self._ask(
                lambda: self._bench.run(session, name, fills, limit_s), doing, limit_s, hidden=hidden
            )
        except Rejected as rejection:
            if rejection.verdict is Verdict.TIMEOUT and limit_s == left_s:
                raise too_slow from None
            raise
        self._spent_s += sum(examined.block.wall_us) / 1e6
        return examined

    def _ask(
        self, ask: Callable[[], _Answer], doing: str, limit_s: float, *, hidden: bool = False
    ) -> _Answer:
        try:
            return ask()
        except CandidateProblem as problem:
            if problem.kind in ("raised", "compile"):
                self.close()
                self._bench.require_room(str(problem))
            raise reject_problem(problem, doing, hidden=hidden) from None
        except ChildFault as fault:
            assert self._session is not None
            ending = self._session.close()
            if isinstance(fault, ChildEnded):
                self._bench.require_room(ending.stderr.decode(errors="replace"))
            raise reject_fault(fault, ending, doing, limit_s, hidden=hidden) from None

    def _judge(
        self,
        reports: tuple[SetReport, ...],
        fills: tuple[SetFill, ...],
        constants: dict[str, int],
        *,
        hidden: bool,
    ) -> None:
        distribution = fills[0].distribution
        faults = []
        seen: set[int] = set()
        for fill, report in zip(fills, reports, strict=True):
            shape = "a hidden shape" if hidden else "the task's shape"
            repeat = fill.seed in seen
            faults.append(find_fault(report, shape, distribution, hidden=hidden, repeat=repeat))
            seen.add(fill.seed)
        first = next((fault for fault in faults if fault is not None), None)
        self.checks.append(shape_check(reports, constants, distribution, hidden, first is None))
        if first is not None:
            raise first

    def _note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)


def shape_check(
    reports: tuple[SetReport, ...], constants: dict[str, int], distribution: str, hidden: bool, passed: bool
) -> ShapeCheck:
    """The record of one run."""
    wrong = next((report.wrong for report in reports if report.wrong), ())
    return ShapeCheck(
        dimensions=constants,
        distribution=distribution,
        hidden=hidden,
        passed=passed,
        max_error_ratio=max(report.max_error_ratio for report in reports),
        wrong_elements=tuple(
            WrongElement(output=w.output, index=w.index, expected=w.expected, actual=w.actual) for w in wrong
        ),
        num_wrong=sum(report.num_wrong for report in reports),
    )
