"""The timed calls, in the candidate's process: fresh contents, cold L2, the reference in turn.

One iteration: draw new inputs, poison the output slot, flush L2 → candidate → sum up the
inputs, flush L2 → reference. Device events stand around every step. The reference runs after the
candidate on the same inputs, and other inputs are drawn before the candidate's next call, so its answer
is never in memory while it would help. All outputs stay in the arena for the verifier. Every buffer lies
in another place from call to call, because where memory happens to be is worth some percent of a time.

A call is short of nothing: the stream waits at a gate until a whole round of calls is on it, so neither
launch overhead nor a host that is busy elsewhere is in any time, for either side.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cuda.bindings import driver

from coding_framework.cuda.executors.base import FaultKind
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.gpu.arena import download
from coding_framework.cuda.executors.gpu.driver import CudaError, call, memset
from coding_framework.cuda.executors.gpu.entry import PreparedLaunch
from coding_framework.cuda.executors.gpu.layout import Place, arena_sizes
from coding_framework.cuda.executors.gpu.messages import (
    REFERENCE_EVERY,
    InputSet,
    MeasureOutcome,
    MeasureRequest,
    OutputPlace,
)
from coding_framework.cuda.executors.gpu.queue_places import QueuePlaces
from coding_framework.cuda.executors.gpu.runner import stray_write
from coding_framework.cuda.executors.gpu.session import (
    STAGING_BYTES,
    LoadedModule,
    Session,
    fault_of,
    fire,
    session,
)

_TRIAL_SLACK = 1.5
"""A trial is not timed well: what is only a little too slow is found out later."""
_POLL_S = 0.0005
_RESIDENCY = re.compile(r"evict_last|createpolicy|cache_hint|prefetch|applypriority")


class _StillRunning(KernelFault):
    """The device will be at it until this process ends."""


@dataclass
class _Bench:
    """Everything prepared for the loop."""

    here: Session
    request: MeasureRequest
    places: dict[str, Place]
    candidate: list[list[PreparedLaunch]]
    """For each set, the launches with the addresses of its slots."""
    reference: list[list[PreparedLaunch]]
    """For each slot."""
    modules: list[LoadedModule]
    asks_for_residency: bool
    """Whether the candidate's code can ask L2 to keep its lines beyond the flush."""
    transfer_us: float | None = None
    queue: QueuePlaces = field(default_factory=QueuePlaces)
    events: list[list[Any]] = field(default_factory=list)
    wall_us: list[float] = field(default_factory=list)
    span_us: list[float] = field(default_factory=list)
    """Rounds that ended, by the host's clock and by the device's."""


@dataclass(frozen=True)
class _Round:
    """A few calls that are under way."""

    start: float
    """By the host's clock."""
    begin: Any
    """The event before the first of them."""
    end: Any
    """The event after the last of them."""


def prepare(request: MeasureRequest) -> MeasureOutcome | None:
    """Load and lay out everything; the kernel's fault is a value, None is none."""
    _PREPARED.clear()
    here = session(request.device_index, request.harness_cubin)
    return _guarded(here, lambda: _PREPARED.append(_prepare(here, request)))


def run_prepared() -> MeasureOutcome | None:
    """The calls: the only part for which the device must be held alone."""
    return _guarded(_PREPARED[0].here, lambda: _run_sets(_PREPARED[0]))


def collect() -> MeasureOutcome:
    """Times, sums and where the outputs are; the modules go."""
    bench = _PREPARED.pop()
    outcome = _outcome(bench)
    _unload_all(bench.modules)
    return outcome


def release(device_index: int, harness_cubin: bytes) -> None:
    """Give the memory of the timed calls back; nobody may have it open any more."""
    session(device_index, harness_cubin).arena.free()


_PREPARED: list[_Bench] = []
"""At most one measurement is under way in a process."""


def _guarded(here: Session, step: Callable[[], None]) -> MeasureOutcome | None:
    """The fault that a step ended with; nothing of a failed measurement is kept."""
    lacks_memory = False
    try:
        step()
        return None
    except _StillRunning as fault:
        _PREPARED.clear()  # nothing of it can be unloaded
        return MeasureOutcome(fault.fault, is_poisoned=True)
    except KernelFault as fault:
        failed = MeasureOutcome(fault.fault)
    except CudaError as error:
        failed = MeasureOutcome(fault_of(error).fault, is_poisoned=error.is_sticky)
        lacks_memory = error.lacks_memory
    for bench in _PREPARED:
        _unload_all(bench.modules)
    _PREPARED.clear()
    if lacks_memory:
        here.require_room()
    return failed


def _run_sets(bench: _Bench) -> None:
    """Rounds of a few calls; a round is put on the stream while the one before it runs.

    The first is waited for before anything follows it, because it shows whether the rest can be made in time.
    """
    numbers = range(len(bench.request.sets))
    running: _Round | None = None
    try:
        for first in numbers[::REFERENCE_EVERY]:
            if _is_enough(bench, first):
                break
            running = _begin(bench, numbers[first : first + REFERENCE_EVERY], running)
            if first == 0 and not bench.request.is_trial:
                _await(bench, running)
                running = None
                _require_pace(bench)
        _await(bench, running)
    finally:
        bench.here.gate.open()  # nothing waits for ever behind a launch that failed
    call(driver.cuStreamSynchronize(bench.here.stream))
    if not bench.request.is_trial:
        bench.transfer_us = _transfer_us(bench)


def _is_enough(bench: _Bench, made: int) -> bool:
    """Whether a slow kernel was called often enough: its time is long beside whatever it scatters by.

    The first round warms up and does not count, or who is slow there alone could choose to be called less.
    """
    return made >= bench.request.least_calls and sum(bench.span_us[1:]) > 1e6 * bench.request.enough_s


def _try_launches(bench: _Bench, launches: list[PreparedLaunch], begun: Any, ended: Any) -> None:
    """A trial's call, whose end is waited for, in time by a clock that runs while the device is at it.

    Nothing is put behind a launch before it has ended: what comes next may be a first launch, and wait for it
    for ever.
    """
    call(driver.cuEventSynchronize(begun))
    spent_s = 0.0
    for launch in launches:
        fire(launch, bench.here.stream)
        call(driver.cuEventRecord(ended, bench.here.stream))
        spent_s = _require_end(bench.request, ended, spent_s)
    bench.queue.launched += len(launches)


def _require_end(request: MeasureRequest, ended: Any, spent_s: float) -> float:
    """The time spent when the event has come.

    The clock is read first: however late this process comes to look, a call that has ended is not late.
    """
    start = time.perf_counter() - spent_s
    while True:
        taken_s = time.perf_counter() - start
        if driver.cuEventQuery(ended)[0] != driver.CUresult.CUDA_ERROR_NOT_READY:
            return taken_s
        if taken_s > _TRIAL_SLACK * _limit_of_call_s(request):
            raise _StillRunning(FaultKind.TIMEOUT, _too_long(request, 1e3 * taken_s, "over "))
        time.sleep(_POLL_S)


def _require_pace(bench: _Bench) -> None:
    """End what would be over the limit before it is; the process is kept, and nobody waits for it."""
    fastest_us = min(_elapsed(bench, 1, 2))
    if fastest_us > 1e6 * _limit_of_call_s(bench.request):
        raise KernelFault(FaultKind.TIMEOUT, _too_long(bench.request, fastest_us / 1e3))


def _limit_of_call_s(request: MeasureRequest) -> float:
    return request.limit_s / max(request.least_calls, 1)


def _too_long(request: MeasureRequest, taken_ms: float, about: str = "") -> str:
    return (
        f"a call takes {about}{taken_ms:.0f} ms, too long for {request.least_calls} calls within "
        f"{request.limit_s:g} s: do less work, spread it over more threads, or look for a loop that never "
        "ends"
    )


def _begin(bench: _Bench, numbers: range, before: _Round | None) -> _Round:
    """Begin a round when the one before it has ended.

    The first is not held back, because a first launch can make the driver wait for an idle device (to load
    code, to make room for stacks); nor is a candidate that is waited for within its rounds.
    """
    is_held = numbers[0] > 0 and not bench.asks_for_residency
    if is_held:
        bench.here.gate.close(bench.here.stream)
        _enqueue(bench, numbers)
    _await(bench, before)
    start = time.perf_counter()
    if is_held:
        bench.here.gate.open()
    else:
        _enqueue(bench, numbers)
    events = bench.events[-len(numbers) :]
    return _Round(start, events[0][0], _end_of(events))


def _enqueue(bench: _Bench, numbers: range) -> None:
    for number in numbers:
        _iteration(bench, number, bench.request.sets[number])


def _await(bench: _Bench, running: _Round | None) -> None:
    """Its end, and how long it took by both clocks."""
    if running is not None:
        call(driver.cuEventSynchronize(running.end))
        bench.wall_us.append((time.perf_counter() - running.start) * 1e6)
        bench.span_us.append(1e3 * call(driver.cuEventElapsedTime(running.begin, running.end)))


def _end_of(events: list[list[Any]]) -> Any:
    """The last event of a round, whose first call has the reference."""
    return events[-1][3] if len(events) > 1 else events[0][5]


def _prepare(here: Session, request: MeasureRequest) -> _Bench:
    places = here.arena.carve(arena_sizes(request), here.stream)
    modules: list[LoadedModule] = []
    try:
        for program in (request.candidate, request.reference):  # one by one: what is loaded gets unloaded
            modules.append(LoadedModule(program.cubin, program.ptx))  # noqa: PERF401
        return _laid_out(here, request, places, modules)
    except BaseException:
        _unload_all(modules)
        raise


def _laid_out(
    here: Session, request: MeasureRequest, places: dict[str, Place], modules: list[LoadedModule]
) -> _Bench:
    memset(places["sums"].address, 0, places["sums"].num_bytes, here.stream)
    candidate = [
        _launches(modules[0], request, places, slot=request.slot(number), number=number)
        for number in range(len(request.sets))
    ]
    here.admit(modules[0])
    reference = [_launches(modules[1], request, places, slot=slot) for slot in range(request.num_slots)]
    residency = bool(_RESIDENCY.search(request.candidate.ptx))
    return _Bench(here, request, places, candidate, reference, modules, residency)


def _launches(
    module: LoadedModule,
    request: MeasureRequest,
    places: dict[str, Place],
    *,
    slot: int,
    number: int | None = None,
) -> list[PreparedLaunch]:
    """The candidate's plan with the addresses of set `number`, or the reference's with its own output."""
    program, side = (request.reference, "reference") if number is None else (request.candidate, "candidate")
    addresses = {array.name: places[array.name].slot(slot) for array in request.inputs}
    addresses |= {array.name: places[f"{side} scratch {array.name}"].slot(slot) for array in program.scratch}
    for array in request.outputs:
        if number is None:
            addresses[array.name] = places[f"reference {array.name}"].slot(slot)
        else:
            addresses[array.name] = places[f"output {array.name}"].slot(number)
    return [module.prepare(launch, addresses) for launch in program.launches]


def _iteration(bench: _Bench, number: int, contents: InputSet) -> None:
    here, stream = bench.here, bench.here.stream
    events = here.events(number)
    bench.events.append(events)
    _reset_residency(bench)
    call(driver.cuEventRecord(events[0], stream))
    _draw(bench, number, contents)
    _poison(bench, number, contents.poison)
    _flush(bench, "candidate")
    call(driver.cuEventRecord(events[1], stream))
    if bench.request.is_trial:
        _try_launches(bench, bench.candidate[number], *events[1:3])
    else:
        _fire_all(bench, bench.candidate[number])
        call(driver.cuEventRecord(events[2], stream))
    _sum_up(bench, number, contents)
    call(driver.cuEventRecord(events[3], stream))
    if number % REFERENCE_EVERY == 0:
        _reset_residency(bench)  # lines that the candidate kept would be missing to the reference
        _flush(bench, "reference")
        call(driver.cuEventRecord(events[4], stream))
        _fire_all(bench, bench.reference[bench.request.slot(number)])
        call(driver.cuEventRecord(events[5], stream))


def _reset_residency(bench: _Bench) -> None:
    """Possible only when nothing runs, so a candidate that can make lines persist is waited for."""
    if bench.asks_for_residency:
        call(driver.cuStreamSynchronize(bench.here.stream))
        call(driver.cuCtxResetPersistingL2Cache())


def _draw(bench: _Bench, number: int, contents: InputSet) -> None:
    each = zip(bench.request.inputs, contents.distributions, contents.seeds, strict=True)
    for array, distribution, seed in each:
        address = bench.places[array.name].slot(bench.request.slot(number))
        bench.here.harness.fill(address, array.count, array.dtype, distribution, array.row_length, seed)
    bench.queue.launched += len(bench.request.inputs)


def _poison(bench: _Bench, number: int, poison: int) -> None:
    for array in bench.request.outputs:
        upper = poison >> 16
        pattern = upper << 16 | upper if array.dtype.endswith("16") else poison
        padded = -(-array.num_bytes // 4) * 4
        memset(bench.places[f"output {array.name}"].slot(number), pattern, padded, bench.here.stream)
    bench.queue.launched += len(bench.request.outputs)


def _flush(bench: _Bench, side: str) -> None:
    """Make L2 cold for the next call of this side, and let that come where in the queue it is its turn to."""
    here = bench.here
    missing = bench.queue.missing(side)
    for _ in range(missing):
        here.harness.nothing()
    memset(here.flush_address, 0, here.flush_bytes, here.stream)
    bench.queue.launched += missing + 1


def _fire_all(bench: _Bench, launches: list[PreparedLaunch]) -> None:
    for launch in launches:
        fire(launch, bench.here.stream)
    bench.queue.launched += len(launches)


def _sum_up(bench: _Bench, number: int, contents: InputSet) -> None:
    """Keyed sums of inputs and outputs right after the call: what changes shows, and when.

    They are sealed before any of the candidate's code runs again.
    """
    slot = bench.request.slot(number)
    arrays = [(array, bench.places[array.name].slot(slot)) for array in bench.request.inputs]
    arrays += [(array, bench.places[f"output {array.name}"].slot(number)) for array in bench.request.outputs]
    first = bench.places["sums"].address + 8 * number * len(arrays)
    for position, (array, address) in enumerate(arrays):
        bench.here.harness.checksum(address, array.num_bytes, contents.key, first + 8 * position)
    bench.here.harness.seal(first, len(arrays), contents.key)
    bench.queue.launched += len(arrays) + 1


def _outcome(bench: _Bench) -> MeasureOutcome:
    stray = bench.here.arena.touched(bench.places, bench.here.staging, bench.here.stream)
    if stray is not None:
        return MeasureOutcome(stray_write(stray.split()[-1]))
    num_arrays = len(bench.request.inputs) + len(bench.request.outputs)
    sums = np.empty((len(bench.events), num_arrays), np.uint64)
    download(bench.places["sums"].address, sums, bench.here.stream)
    outputs = [bench.places[f"output {array.name}"] for array in bench.request.outputs]
    return MeasureOutcome(
        fault=None,
        candidate_us=_elapsed(bench, 1, 2),
        reference_us=_elapsed(bench, 4, 5, every=REFERENCE_EVERY),
        span_us=tuple(bench.span_us),
        wall_us=tuple(bench.wall_us),
        transfer_us=bench.transfer_us,
        arena=bench.here.arena.handle,
        arena_capacity=bench.here.arena.capacity,
        places=tuple(OutputPlace(place.offset, place.stride) for place in outputs),
        sums=tuple(tuple(int(value) for value in row) for row in sums),
    )


def _elapsed(bench: _Bench, first: int, last: int, *, every: int = 1) -> tuple[float, ...]:
    each = (call(driver.cuEventElapsedTime(e[first], e[last])) for e in bench.events[::every])
    return tuple(1e3 * milliseconds for milliseconds in each)


def _transfer_us(bench: _Bench) -> float:
    """Host-to-device copy of all inputs; once for the same sizes, because no candidate changes it."""
    sizes, known = tuple(array.num_bytes for array in bench.request.inputs), bench.here.transfer_us
    if sizes not in known:
        known[sizes] = _measured_transfer_us(bench)
    return known[sizes]


def _measured_transfer_us(bench: _Bench) -> float:
    """Out of page-locked memory."""
    stream, staging = bench.here.stream, bench.here.staging.reserve(STAGING_BYTES).ctypes.data
    first, last = bench.here.events(len(bench.events))[:2]
    call(driver.cuEventRecord(first, stream))
    for array in bench.request.inputs:
        for at in range(0, array.num_bytes, STAGING_BYTES):
            size = min(STAGING_BYTES, array.num_bytes - at)
            call(driver.cuMemcpyHtoDAsync(bench.places[array.name].address + at, staging, size, stream))
    call(driver.cuEventRecord(last, stream))
    call(driver.cuStreamSynchronize(stream))
    return 1e3 * float(call(driver.cuEventElapsedTime(first, last)))


def _unload_all(modules: list[LoadedModule]) -> None:
    for module in modules:
        try:
            module.unload()
        except CudaError as error:
            if not error.is_sticky:
                raise
