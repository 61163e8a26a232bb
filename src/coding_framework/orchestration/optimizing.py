"""Several conversations on one problem, and the fastest kernel that comes out verified.

What it needs to go on lies in one folder (`optimize_records.py`).

Guarantees: a kernel is called better only after it passed the judge again on fresh inputs, with a speedup
whose interval excludes 1. It is not promised that a better one is found, and the outcome says so.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Sequence

from coding_framework.monitoring.storage import write_whole
from coding_framework.orchestration.optimize_records import (
    OptimizeFolder,
    OptimizeOutcome,
    OptimizeSettings,
)
from coding_framework.orchestration.steps import AnyTask, Generate, JudgeFn, RewardFn
from coding_framework.orchestration.trajectory import trajectory_svg
from coding_framework.orchestration.workflow import CUDAKernelWorkflow
from coding_framework.records import (
    Conversation,
    ConversationTurn,
    Evaluation,
    KernelTiming,
    ModuleTask,
)

OnTurn = Callable[[int, ConversationTurn], None]
"""Called with the number of the try and each turn as it is known, stored ones first."""


class Optimization:
    """All tries on one problem."""

    def __init__(
        self,
        task: AnyTask,
        reference: str,
        settings: OptimizeSettings,
        folder: OptimizeFolder,
        *,
        judge: JudgeFn,
        confirm: JudgeFn,
        reward: RewardFn,
        is_faster: Callable[[KernelTiming], bool],
    ) -> None:
        self.task = task
        self.attempts: list[list[ConversationTurn]] = []
        self._reference = reference
        self._settings = settings
        self._folder = folder
        self._confirm = confirm
        self._is_faster = is_faster
        self._workflow = CUDAKernelWorkflow(
            settings.conversation, judge=judge, reward=reward, checkpoints=folder.checkpoints
        )

    def conversation_id(self, number: int) -> str:
        """The same for the same request in every process."""
        words = (self.task.name, self._settings.problem, self._settings.model, str(self._settings.seed))
        digest = hashlib.sha256("\0".join(words).encode()).hexdigest()
        return f"{self.task.name}-{digest[:12]}-{number + 1}"

    async def run(self, generate: Generate, on_turn: OnTurn = lambda number, turn: None) -> OptimizeOutcome:
        """Every try that is not finished yet, then the verdict on all of them."""
        finished = self._folder.conversations()
        for number in range(self._settings.tries):
            await self._try(number, generate, on_turn, finished)
        return await self.conclude()

    async def keep_picture(self) -> None:
        """After an interruption: the trajectory of everything that is stored so far."""
        stored = [
            await self._workflow.stored_turns(self.conversation_id(number))
            for number in range(self._settings.tries)
        ]
        self.attempts = [list(turns) for turns in stored if turns]
        self._draw()

    async def conclude(self) -> OptimizeOutcome:
        """The fastest kernel that passes once more; everything is written down."""
        best, place, unconfirmed = await self._best()
        seen = [turn.evaluation for attempt in self.attempts for turn in attempt]
        outcome = OptimizeOutcome(
            problem=self.task.name,
            improved=best is not None,
            best=best,
            best_try=place[0] if place else None,
            best_turn=place[1] if place else None,
            tries=len(self.attempts),
            turns=len(seen),
            passed=sum(evaluation.passed for evaluation in seen),
            best_speedup_seen=max((e.speedup for e in seen if e.speedup is not None), default=None),
            unconfirmed=unconfirmed,
            folder=self._folder.path,
        )
        self._write(outcome)
        return outcome

    def difference(self, outcome: OptimizeOutcome) -> str:
        """The best kernel against the reference, as a unified diff; empty when there is none."""
        if outcome.best is None or outcome.best.candidate is None:
            return ""
        before, after = self._reference.splitlines(), outcome.best.candidate.source.splitlines()
        lines = difflib.unified_diff(before, after, "naive", "best", lineterm="")
        return "\n".join(lines) + "\n"

    async def _try(
        self, number: int, generate: Generate, on_turn: OnTurn, finished: dict[str, Conversation]
    ) -> None:
        turns: list[ConversationTurn] = []
        self.attempts.append(turns)
        name = self.conversation_id(number)

        def tell(turn: ConversationTurn) -> None:
            turns.append(turn)
            on_turn(number, turn)

        known = finished.get(name)
        for turn in known.turns if known else await self._workflow.stored_turns(name):
            tell(turn)
        if known is None:
            self._folder.keep(
                await self._workflow.run(self.task, generate, conversation_id=name, on_turn=tell)
            )

    async def _best(self) -> tuple[Evaluation | None, tuple[int, int] | None, int]:
        """Fastest first; what does not hold a second time on fresh inputs is passed over."""
        found = [
            (turn.evaluation, (number, turn.index))
            for number, attempt in enumerate(self.attempts)
            for turn in attempt
            if turn.evaluation.timing is not None and self._is_faster(turn.evaluation.timing)
        ]
        found.sort(key=lambda item: -(item[0].speedup or 0.0))
        for unconfirmed, (evaluation, place) in enumerate(found):
            assert evaluation.candidate is not None
            again = await self._confirm(self.task, evaluation.candidate)
            if again.timing is not None and self._is_faster(again.timing):
                return again, place, unconfirmed
        return None, None, len(found)

    def _write(self, outcome: OptimizeOutcome) -> None:
        folder = self._folder.path
        if outcome.best is not None and outcome.best.candidate is not None:
            suffix = "py" if isinstance(self.task, ModuleTask) else "cu"
            write_whole(folder / f"best.{suffix}", outcome.best.candidate.source)
            write_whole(folder / "best.diff", self.difference(outcome))
        self._draw()
        write_whole(folder / "outcome.json", outcome.model_dump_json(indent=2))

    def _draw(self) -> None:
        if any(self.attempts):
            title = f"{self.task.name}: {_kind_words(self.attempts)}speedup of each turn"
            write_whole(self._folder.trajectory, trajectory_svg(title, self.attempts))


def _kind_words(attempts: Sequence[Sequence[ConversationTurn]]) -> str:
    kinds = {t.evaluation.timing.kind for attempt in attempts for t in attempt if t.evaluation.timing}
    return "".join(f"{kind} " for kind in sorted(kinds))
