"""PyTorch's own time for a task, under the judge's protocol: the oracle's formula on the task's types.

Runs in the verifier's process, because it needs torch. `eager` is what a user would write; `compile`
is the same function through `torch.compile`, which takes seconds the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coding_framework.cuda.executors.gpu.messages import TorchBaselineRequest
from coding_framework.cuda.executors.gpu.verifier import open_harness


def time_torch(request: TorchBaselineRequest) -> tuple[float, ...]:
    """Cold-L2 times in microseconds, one for each call, fresh contents in each."""
    import array_api_compat.torch as xp
    import torch

    device = f"cuda:{request.device_index}"
    torch.zeros(1, device=device)

    def formula(inputs: dict[str, Any]) -> Any:
        return request.task.oracle(xp, inputs, request.dimensions)

    function: Callable[[dict[str, Any]], Any] = torch.compile(formula) if request.compiled else formula
    flush = torch.empty(request.flush_bytes, dtype=torch.uint8, device=device)
    return tuple(_time_once(request, function, flush, number) for number in range(len(request.sets)))


def _time_once(
    request: TorchBaselineRequest, function: Callable[[dict[str, Any]], Any], flush: Any, number: int
) -> float:
    import torch

    inputs = _draw(request, number)
    cuda: Any = torch.cuda
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    flush.zero_()
    start.record()
    function(inputs)
    end.record()
    cuda.synchronize()
    return 1e3 * float(start.elapsed_time(end))


def _draw(request: TorchBaselineRequest, number: int) -> dict[str, Any]:
    import torch

    harness = open_harness(request.device_index, request.harness_cubin)
    contents, drawn = request.sets[number], {}
    extents = {spec.name: spec.extents(request.dimensions) for spec in request.task.inputs}
    for array, kind, seed in zip(request.inputs, contents.distributions, contents.seeds, strict=True):
        dtype = getattr(torch, array.dtype)
        tensor = torch.empty(extents[array.name], dtype=dtype, device=f"cuda:{request.device_index}")
        harness.fill(tensor.data_ptr(), array.count, array.dtype, kind, array.row_length, seed)
        drawn[array.name] = tensor
    return drawn
