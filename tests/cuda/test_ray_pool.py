"""The pool over a real Ray cluster of this machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda import ray_actors
from coding_framework.cuda.compiler import CompiledParcel, CompilerSettings, CUDACompiler
from coding_framework.cuda.lane_process import LaneFailure
from coding_framework.cuda.lanes import LaneAnswer
from coding_framework.cuda.pool import JudgePool, open_pool
from coding_framework.cuda.ray_actors import ActorGroup, ray_module
from coding_framework.cuda.ray_hosts import CompileHost, JudgeHost
from coding_framework.cuda.ray_pool import RayJudgePool, wants_gpus
from coding_framework.data.tasks import all_tasks, get_task, variants
from coding_framework.errors import (
    ConfigError,
    MissingExtraError,
    NotAvailableError,
    WorkerDied,
    WorkerRaised,
    WorkerTimeout,
)
from coding_framework.records import Candidate, Task

CANDIDATES = Path(__file__).parent / "candidates"
VECTOR_ADD = get_task("vector_add")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    quiet = {"include_dashboard": False, "log_to_driver": False}
    ray.init(num_cpus=8, num_gpus=4, object_store_memory=80_000_000, **quiet)  # GPUs in name only
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def pool(cluster: Any) -> Iterator[RayJudgePool]:
    with open_pool(JudgeConfig(pool="ray", workers=2)) as pool:
        assert isinstance(pool, RayJudgePool)
        yield pool


def ten_candidates() -> list[tuple[Task, Candidate]]:
    files = [file for file in sorted(CANDIDATES.glob("*.cu")) if file.stem != "endless"]  # ten seconds each
    items = [(VECTOR_ADD, Candidate(source=file.read_text())) for file in files]
    items += [(task, Candidate(source=task.baseline)) for task in all_tasks()[1:5]]
    assert len(items) == 10
    return items


@pytest.mark.slow
class TestOnACluster:
    def test_verdicts_and_their_order_are_those_of_the_local_pool(self, pool: RayJudgePool) -> None:
        items = ten_candidates()
        remote = pool.judge_many(items)
        with JudgePool(JudgeConfig(workers=2)) as local:
            here = local.judge_many(items)
        assert [(e.task, e.verdict, e.source_line) for e in remote] == [
            (e.task, e.verdict, e.source_line) for e in here
        ]
        assert [e.timing for e in remote] == [e.timing for e in here]
        assert [e.candidate for e in remote] == [candidate for _, candidate in items]

    async def test_it_can_be_awaited_and_remembers(self, pool: RayJudgePool) -> None:
        asked = Candidate(source="// awaited\n" + VECTOR_ADD.baseline)
        remembered = pool.num_remembered
        first = await pool.judge_async(VECTOR_ADD, asked)
        assert await pool.judge_async(VECTOR_ADD, asked) is first
        assert pool.num_remembered == remembered + 1

    @pytest.mark.parametrize("means", ["ray.kill", "SIGKILL"])
    def test_killing_an_actor_in_the_middle_loses_nothing(
        self, pool: RayJudgePool, cluster: Any, means: str
    ) -> None:
        before, faults = pool.process_ids, pool.num_faults
        items = [
            (task, Candidate(source=f"// {means}\n" + v.source))
            for task in all_tasks()[:6]
            for v in variants(task.name)
        ]
        pool.forget()

        def kill() -> None:
            time.sleep(0.4)
            if means == "SIGKILL":
                os.kill(before[0], signal.SIGKILL)
            else:
                cluster.kill(pool._actors._judges._members[0].actor)

        killer = threading.Thread(target=kill)
        killer.start()
        evaluations = pool.judge_many(items)
        killer.join()
        assert [evaluation.task for evaluation in evaluations] == [task.name for task, _ in items]
        assert all(evaluation.passed for evaluation in evaluations)
        assert pool.num_faults > faults
        assert pool.process_ids != before

    def test_a_task_with_a_truth_of_its_own_travels(self, pool: RayJudgePool) -> None:
        factor = 3.0
        tripled = VECTOR_ADD.model_copy(
            update={
                "name": "tripled",
                "oracle": lambda xp, inputs, dimensions: {"y": factor * (inputs["a"] + inputs["b"])},
            }
        )
        evaluation = pool.judge(tripled, Candidate(source=VECTOR_ADD.baseline))
        assert evaluation.verdict.value == "wrong_result"

    def test_with_gpus_some_actors_compile_and_one_judges_for_each_gpu_of_the_judge(
        self, cluster: Any
    ) -> None:
        config = JudgeConfig(pool="ray", workers=2, executor="auto", architecture="auto", cluster_gpus=1)
        items = [(task, Candidate(source=f"// {time.time()}\n" + task.baseline)) for task in all_tasks()[:3]]
        with open_pool(config) as pool:
            assert isinstance(pool, RayJudgePool)
            assert len(pool.process_ids) == 1
            assert pool._actors._compilers is not None
            evaluations = pool.judge_many([*items, (VECTOR_ADD, Candidate(source="no kernel"))])
        assert [evaluation.passed for evaluation in evaluations] == [True, True, True, False]
        assert all(e.compilation is not None and e.compilation.from_cache for e in evaluations[:3])

    def test_a_bad_configuration_is_still_the_users_error(self, cluster: Any) -> None:
        config = JudgeConfig(pool="ray", workers=1, compile_flags=("--no-such-flag",))
        with open_pool(config) as pool, pytest.raises(ConfigError, match="no-such-flag"):
            pool.judge(VECTOR_ADD, Candidate(source=VECTOR_ADD.baseline))

    def test_an_actor_that_hangs_is_replaced(self, cluster: Any) -> None:
        group = ActorGroup(sleeper(), (), count=1, lanes=1, num_cpus=0)
        before = group.process_ids()
        with pytest.raises(WorkerTimeout):
            group.call("sleep", 60, timeout_s=0.5)
        assert group.call("describe", timeout_s=60)[0] != before[0]
        with pytest.raises(WorkerRaised, match="on purpose"):
            group.call("fail", timeout_s=60)
        group.close()
        group.close()

    def test_an_actor_without_room_leaves_and_the_last_one_says_so(
        self, cluster: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ray_actors, "START_TIMEOUT_S", 1.0)
        group = ActorGroup(sleeper(), (), count=2, lanes=1, num_cpus=64)
        with pytest.raises(WorkerDied, match="no room"):
            group.call("describe", timeout_s=1)
        with pytest.raises(NotAvailableError, match="pool=local"):
            group.call("describe", timeout_s=1)


def sleeper() -> type:
    """A host for tests of the group alone; local, so that it travels by value."""

    class Sleeper:
        def describe(self) -> tuple[int, str]:
            return os.getpid(), ""

        def sleep(self, duration_s: float) -> None:
            time.sleep(duration_s)

        def fail(self) -> None:
            raise RuntimeError("on purpose")

    return Sleeper


def test_gpus_are_used_where_the_cluster_has_them_unless_the_emulator_is_named() -> None:
    assert wants_gpus(JudgeConfig(executor="auto"), 2)
    assert not wants_gpus(JudgeConfig(executor="auto"), 0)
    assert not wants_gpus(JudgeConfig(executor="emulator"), 2)
    with pytest.raises(NotAvailableError, match="has a GPU"):
        wants_gpus(JudgeConfig(executor="gpu"), 0)


def test_without_ray_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"coding_framework\[verl\]"):
        ray_module()


class TestHosts:
    def test_what_one_machine_compiled_another_takes_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path / "there"))
        parcel = CompileHost(JudgeConfig(), "sm_90").compile(VECTOR_ADD.baseline)
        assert isinstance(parcel, CompiledParcel)
        monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path / "here"))
        host = JudgeHost(JudgeConfig(workers=1))
        assert host.describe() == (os.getpid(), "sm_90")
        answer = host.ask(VECTOR_ADD, Candidate(source=VECTOR_ADD.baseline), frozenset(), parcel)
        assert isinstance(answer, LaneAnswer)
        assert answer.evaluation is not None
        assert answer.evaluation.passed
        assert answer.compilation is not None
        assert answer.compilation.from_cache
        assert answer.compilation.binary_path is not None
        assert tmp_path / "here" in answer.compilation.binary_path.parents
        host.close()

    def test_another_compilers_work_is_not_taken_over(self, tmp_path: Path) -> None:
        settings = CompilerSettings(architecture="sm_80", cache_dir=tmp_path / "a")
        with CUDACompiler(settings) as other, CUDACompiler(CompilerSettings(cache_dir=tmp_path / "b")) as own:
            parcel = other.parcel(VECTOR_ADD.baseline)
            assert parcel is not None
            assert not own.adopt(parcel)
            assert not own.compile(VECTOR_ADD.baseline).from_cache

    def test_what_does_not_compile_is_not_handed_over(self) -> None:
        host = CompileHost(JudgeConfig(), "sm_90")
        assert host.describe()[1] == "sm_90"
        assert host.compile("no kernel at all") is None

    def test_errors_of_ours_come_back_as_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(self: CUDACompiler, source: str) -> None:
            raise WorkerDied("gone")

        monkeypatch.setattr(CUDACompiler, "parcel", die)
        answer = CompileHost(JudgeConfig(), "sm_90").compile(VECTOR_ADD.baseline)
        assert isinstance(answer, LaneFailure)
        assert isinstance(answer.rebuilt(), WorkerDied)
