"""What the runner does before and after the device: pack images, look at them, say what came first."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from cuda.bindings.driver import CUresult

from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, ExecutionRequest, FaultKind
from coding_framework.cuda.executors.gpu import runner
from coding_framework.cuda.executors.gpu.driver import CudaError
from coding_framework.cuda.executors.gpu.layout import GUARD_BYTES
from coding_framework.cuda.executors.gpu.messages import RunAnswer
from coding_framework.cuda.executors.gpu.runner import Run, batches, up_to_first_fault
from coding_framework.errors import DeviceFull


def run_of(num_elements: int) -> Run:
    buffers = {"x": np.arange(num_elements, dtype=np.float32), "y": np.zeros(num_elements, np.float16)}
    request = ExecutionRequest(ptx="", cubin=b"", launches=(), buffers=buffers, poison=7, instruction_limit=1)
    return Run(request)


def filled(num_elements: int = 5) -> Run:
    run = run_of(num_elements)
    run.fill(np.zeros(run.layout.num_bytes, np.uint8))
    return run


def test_what_goes_in_comes_out() -> None:
    outcome = filled().outcome()
    assert outcome.fault is None
    assert outcome.poison == 7
    assert outcome.buffers["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert outcome.buffers["x"].dtype == np.float32
    assert outcome.buffers["y"].dtype == np.float16


def test_the_outcome_is_a_copy() -> None:
    run = filled()
    outcome = run.outcome()
    run.image[:] = 0
    assert outcome.buffers["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(("offset", "buffer"), [(-1, "x"), (5 * 4, "x"), (GUARD_BYTES, "x")])
def test_a_stray_write_is_a_fault(offset: int, buffer: str) -> None:
    run = filled()
    run.image[run.layout.places[0].offset + offset] ^= 1
    fault = run.outcome().fault
    assert fault is not None
    assert fault.kind is FaultKind.OUT_OF_BOUNDS
    assert f"`{buffer}`" in fault.message


def test_runs_are_together_as_far_as_there_is_room() -> None:
    runs = [run_of(n) for n in (10, 10, 10, 5000, 10)]
    size = runs[0].layout.num_bytes
    assert [len(batch) for batch in batches(runs, 2 * size)] == [2, 1, 1, 1]
    assert [len(batch) for batch in batches(runs, 2**24)] == [5]
    assert [run for batch in batches(runs, 1) for run in batch] == runs
    assert list(batches([], 10)) == []


class _Staging:
    def reserve(self, num_bytes: int) -> np.ndarray:
        return np.zeros(num_bytes, np.uint8)


@pytest.mark.parametrize("is_full", [True, False])
def test_a_kernel_that_finds_no_memory_is_at_fault_unless_others_have_it(
    monkeypatch: pytest.MonkeyPatch, is_full: bool
) -> None:
    """Asked when what was loaded for the kernel is gone: that would be its own."""
    happened: list[str] = []

    def no_memory(*_: object) -> None:
        raise CudaError(CUresult.CUDA_ERROR_OUT_OF_MEMORY)

    def require_room() -> None:
        happened.append("asked")
        if is_full:
            raise DeviceFull("full")

    here = SimpleNamespace(staging=_Staging(), stream=None, require_room=require_room)
    fine = SimpleNamespace(cuStreamSynchronize=lambda stream: (CUresult.CUDA_SUCCESS,))
    monkeypatch.setattr(runner, "driver", fine)
    monkeypatch.setattr(runner, "_enqueue", no_memory)
    monkeypatch.setattr(runner._Loaded, "unload", lambda self: happened.append("unloaded"))
    if is_full:
        with pytest.raises(DeviceFull):
            runner._run_batch(here, [run_of(5)])  # type: ignore[arg-type]
    else:
        (outcome,) = runner._run_batch(here, [run_of(5)]).outcomes  # type: ignore[arg-type]
        assert outcome.fault is not None
        assert outcome.fault.kind is FaultKind.INVALID_LAUNCH
    assert happened == ["unloaded", "asked"]


@pytest.mark.parametrize("has_fault", [True, False])
def test_what_was_staged_is_run_up_to_the_first_fault_and_collected(
    monkeypatch: pytest.MonkeyPatch, has_fault: bool
) -> None:
    fault = ExecutionFault(FaultKind.CRASHED, "trap") if has_fault else None
    seen: list[int] = []

    def run_batch(here: object, batch: list[Run]) -> RunAnswer:
        seen.append(len(batch))
        return RunAnswer((ExecutionOutcome(fault, {}, ()),) * len(batch), is_poisoned=has_fault)

    monkeypatch.setattr(runner, "session", lambda *_: SimpleNamespace(keeps_memory=True))
    monkeypatch.setattr(runner, "_run_batch", run_batch)
    monkeypatch.setattr(runner, "STAGING_BYTES", 2 * run_of(5).layout.num_bytes + 256)
    runner.stage(tuple(run_of(5).request for _ in range(3)))
    runner.run_staged(0, b"")
    answer = runner.collect()
    assert seen == ([2] if has_fault else [2, 1])
    assert len(answer.outcomes) == sum(seen)
    assert (answer.is_poisoned, answer.keeps_memory) == (has_fault, True)
    assert not runner._STAGED


def test_what_comes_after_the_first_fault_is_not_told() -> None:
    fault = ExecutionFault(FaultKind.OUT_OF_BOUNDS, "stray")
    fine, bad = ExecutionOutcome(None, {}, ()), ExecutionOutcome(fault, {}, ())
    assert up_to_first_fault([fine, fine]) == (fine, fine)
    assert up_to_first_fault([fine, bad, fine, bad]) == (fine, bad)
    assert up_to_first_fault([]) == ()
