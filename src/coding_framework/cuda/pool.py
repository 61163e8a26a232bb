"""Many judgements at once: lanes of one judge each, over local processes.

Guarantees: answers come back in the order of the questions; a fault of ours is tried once more on
a fresh lane and then raised; the same candidate for the same task is judged once. The work is done
in the lanes' worker processes, so threads are enough here.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from coding_framework.config import JudgeConfig
from coding_framework.cuda.judge import Judge
from coding_framework.errors import JudgeFault
from coding_framework.records import Candidate, Evaluation, Task

MAX_REMEMBERED = 4096


class JudgePool:
    """`config.workers` judges side by side."""

    def __init__(self, config: JudgeConfig | None = None) -> None:
        self.config = config or JudgeConfig()
        self._lanes: queue.LifoQueue[Judge] = queue.LifoQueue()
        for _ in range(self.config.workers):
            self._lanes.put(Judge(self.config))
        self._threads = ThreadPoolExecutor(max_workers=self.config.workers, thread_name_prefix="judge")
        self._known: OrderedDict[tuple[str, str], Evaluation] = OrderedDict()
        self._lock = threading.Lock()
        self.num_judged = 0
        self.num_remembered = 0
        self.num_faults = 0

    def judge(self, task: Task, candidate: Candidate) -> Evaluation:
        """One judgement, on the next free lane."""
        key = (task.name, candidate.digest)
        with self._lock:
            if key in self._known:
                self.num_remembered += 1
                self._known.move_to_end(key)
                return self._known[key]
        try:
            evaluation = self._judge_on_a_lane(task, candidate)
        except JudgeFault:
            self.num_faults += 1
            evaluation = self._judge_on_a_lane(task, candidate)
        with self._lock:
            self.num_judged += 1
            self._known[key] = evaluation
            if len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        return evaluation

    async def judge_async(self, task: Task, candidate: Candidate) -> Evaluation:
        """The same without blocking the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.judge, task, candidate)

    def judge_many(
        self,
        items: Iterable[tuple[Task, Candidate]],
        on_done: Callable[[Evaluation], None] | None = None,
    ) -> list[Evaluation]:
        """All of them, in order; `on_done` is called as each is ready."""
        futures = [self._threads.submit(self.judge, task, candidate) for task, candidate in items]
        evaluations = []
        try:
            for future in futures:
                evaluations.append(future.result())
                if on_done:
                    on_done(evaluations[-1])
        finally:
            for future in futures:
                future.cancel()
        return evaluations

    def close(self) -> None:
        """End every worker process; safe to call twice."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._lanes.empty():
            self._lanes.get_nowait().close()

    def _judge_on_a_lane(self, task: Task, candidate: Candidate) -> Evaluation:
        lane = self._lanes.get()
        try:
            return lane.judge(task, candidate)
        finally:
            self._lanes.put(lane)

    def __enter__(self) -> JudgePool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
