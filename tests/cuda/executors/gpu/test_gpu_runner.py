"""What the runner does before and after the device: pack images, look at them, say what came first."""

from __future__ import annotations

import numpy as np
import pytest

from coding_framework.cuda.executors.base import ExecutionFault, ExecutionOutcome, ExecutionRequest, FaultKind
from coding_framework.cuda.executors.gpu.layout import GUARD_BYTES
from coding_framework.cuda.executors.gpu.runner import Run, batches, up_to_first_fault


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


def test_what_comes_after_the_first_fault_is_not_told() -> None:
    fault = ExecutionFault(FaultKind.OUT_OF_BOUNDS, "stray")
    fine, bad = ExecutionOutcome(None, {}, ()), ExecutionOutcome(fault, {}, ())
    assert up_to_first_fault([fine, fine]) == (fine, fine)
    assert up_to_first_fault([fine, bad, fine, bad]) == (fine, bad)
    assert up_to_first_fault([]) == ()
