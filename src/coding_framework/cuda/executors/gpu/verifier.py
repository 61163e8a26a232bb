"""Verifies outputs in a process and context of its own, with torch: the only place that knows answers.

It draws the same inputs from the same seeds, runs the task's oracle in float64 on the GPU, opens the
memory in which the candidate left its outputs, and compares every element. The candidate's context
cannot see any of this memory.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from cuda.bindings import driver

from coding_framework.cuda.executors.gpu.driver import call, open_device
from coding_framework.cuda.executors.gpu.harness import MAX_SHOWN, Harness
from coding_framework.cuda.executors.gpu.ipc import set_handle_bytes
from coding_framework.cuda.executors.gpu.messages import (
    Array,
    SetResult,
    VerifyRequest,
    WrongValue,
)

_KEPT_SHARE = 1 / 128
"""Of the card's memory, which torch's allocator may keep for the next candidate."""
_OPEN: dict[bytes, int] = {}
"""Arenas of other processes by handle."""


def warm_up(device_index: int) -> str:
    """Load torch and open the device; the version of torch."""
    import torch

    torch.zeros(1, device=f"cuda:{device_index}")
    return str(torch.__version__)


def verify(request: VerifyRequest) -> tuple[SetResult, ...]:
    """One result for each set, in order."""
    bench = _Bench(request)
    base = _open(request.device_index, request.arena)
    for number in range(len(request.sets)):
        bench.compare_set(number, base)
    results = bench.results(base)
    _give_back_memory(request.device_index)
    return results


def _give_back_memory(device_index: int) -> None:
    """What a large oracle needed is not kept from the other lanes; an ordinary one finds its memory again."""
    import torch

    cuda: Any = torch.cuda
    total = cuda.get_device_properties(device_index).total_memory
    if cuda.memory_reserved(device_index) > _KEPT_SHARE * total:
        cuda.empty_cache()


class _Bench:
    """All sets are put on the stream before the first result is read."""

    def __init__(self, request: VerifyRequest) -> None:
        import torch

        self._torch = torch
        self._request = request
        self._device = f"cuda:{request.device_index}"
        self._harness = open_harness(request.device_index, request.harness_cubin)
        self._arrays = (*request.inputs, *request.outputs)
        sets, outputs = len(request.sets), len(request.outputs)
        self._shapes = (sets, len(self._arrays)), (sets, outputs, 2 + MAX_SHOWN)
        self._numbers = torch.zeros(sum(map(prod, self._shapes)), dtype=torch.int64, device=self._device)
        self._sums, found = self._split(self._numbers)
        self._sums_address = int(self._sums.data_ptr())
        self._found_address = int(found.data_ptr())
        self._inputs = [self._room_for(spec.extents(request.dimensions)) for spec in request.task.inputs]

    def _room_for(self, extents: tuple[int, ...]) -> Any:
        """For an input of any set: sets follow each other on the stream."""
        return self._torch.empty(extents, dtype=self._torch.float64, device=self._device)

    def _split(self, numbers: Any) -> list[Any]:
        """Sums of the arrays and what was found, out of one piece of memory."""
        ends = list(accumulate(map(prod, self._shapes), initial=0))
        places = zip(pairwise(ends), self._shapes, strict=True)
        return [numbers[i:j].reshape(shape) for (i, j), shape in places]

    def compare_set(self, number: int, base: int) -> None:
        """Put the comparison of one set on the stream."""
        tolerance, key = self._request.task.tolerance, self._request.sets[number].key
        expected = self._expected(number)
        for position, array in enumerate(self._request.outputs):
            place = number * len(expected) + position
            self._harness.compare(
                self._address(number, position, base),
                expected[array.name].data_ptr(),
                array.count,
                array.dtype,
                0.0 if array.dtype == "int32" else tolerance.absolute,
                0.0 if array.dtype == "int32" else tolerance.relative,
                key=key,
                total=self._sum_address(number, len(self._request.inputs) + position),
                result=self._found_address + 8 * (2 + MAX_SHOWN) * place,
            )
        self._harness.seal(self._sum_address(number, 0), len(self._arrays), key)

    def results(self, base: int) -> tuple[SetResult, ...]:
        """What was found, with the first wrong elements of the sets that have some."""
        sums, found = self._split(self._numbers.cpu().numpy())  # waits, once
        sums, num_inputs = sums.view(np.uint64), len(self._request.inputs)
        results = []
        for number, given in enumerate(self._request.sums):
            changed = _differing(self._request.inputs, sums[number, :num_inputs], given[:num_inputs])
            late = _differing(self._request.outputs, sums[number, num_inputs:], given[num_inputs:])
            num_wrong = int(found[number, :, 0].sum())
            worst = float(found[number, :, 1].copy().view(np.float64).max())
            wrong = self._wrong(number, found[number], base) if num_wrong else ()
            results.append(SetResult(num_wrong, worst, changed, late, wrong))
        return tuple(results)

    def _expected(self, number: int) -> dict[str, Any]:
        import array_api_compat.torch as xp

        drawn = {
            array.name: self._draw(array, number, position)
            for position, array in enumerate(self._request.inputs)
        }
        outputs = self._request.task.oracle(xp, drawn, self._request.dimensions)
        wide = {name: xp.asarray(value, dtype=xp.float64) for name, value in outputs.items()}
        return {name: value.reshape(-1).contiguous() for name, value in wide.items()}

    def _draw(self, array: Array, number: int, position: int) -> Any:
        """The input as the candidate should have seen it, in float64; its checksum is kept."""
        contents = self._request.sets[number]
        wide = self._inputs[position]
        self._harness.redraw(
            wide.data_ptr(),
            array.count,
            array.dtype,
            contents.distributions[position],
            array.row_length,
            contents.seeds[position],
            key=contents.key,
            total=self._sum_address(number, position),
        )
        return wide

    def _address(self, number: int, position: int, base: int) -> int:
        place = self._request.places[position]
        return base + place.offset + number * place.stride

    def _sum_address(self, number: int, position: int) -> int:
        return self._sums_address + 8 * (number * len(self._arrays) + position)

    def _wrong(self, number: int, found: Any, base: int) -> tuple[WrongValue, ...]:
        self._sums[number] = 0
        expected = self._expected(number)
        shown = []
        for position, array in enumerate(self._request.outputs):
            indices = sorted(int(i) for i in found[position, 2 : 2 + min(int(found[position, 0]), MAX_SHOWN)])
            for index in indices:
                address = self._address(number, position, base)
                actual = self._value(array, address, index)
                shown.append(WrongValue(array.name, index, float(expected[array.name][index]), actual))
        return tuple(shown[:MAX_SHOWN])

    def _value(self, array: Array, address: int, index: int) -> float:
        wide = self._torch.empty(1, dtype=self._torch.float64, device=self._device)
        size = 2 if array.dtype.endswith("16") else 4
        self._harness.widen(address + index * size, wide.data_ptr(), 1, array.dtype)
        return float(wide.item())


def _differing(arrays: tuple[Array, ...], own: Any, given: tuple[int, ...]) -> str | None:
    """The first array whose sum is not what it was."""
    pairs = zip(arrays, own, given, strict=True)
    return next((array.name for array, mine, theirs in pairs if int(mine) != theirs), None)


@cache
def open_harness(device_index: int, cubin: bytes) -> Harness:
    """On the default stream, which is torch's too: everything stays in order."""
    return Harness(cubin, 0, open_device(device_index))


def _open(device_index: int, handle: bytes) -> int:
    """The candidate's arena in this context; opening takes milliseconds, so it stays open."""
    if handle not in _OPEN:
        open_device(device_index)
        opened = driver.CUipcMemHandle()
        set_handle_bytes(opened, handle)
        flag = driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        _OPEN[handle] = int(call(driver.cuIpcOpenMemHandle(opened, flag)))
    return _OPEN[handle]


def forget(handle: bytes) -> None:
    """Close an arena whose owner is about to free it, or is gone."""
    if handle in _OPEN:
        call(driver.cuIpcCloseMemHandle(_OPEN.pop(handle)))


def release() -> None:
    """Close every arena, and keep nothing of the card's memory that is not in use."""
    import torch

    for handle in tuple(_OPEN):
        forget(handle)
    cuda: Any = torch.cuda
    cuda.empty_cache()
