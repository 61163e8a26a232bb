"""The parts of the GPU executor that need no GPU."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cuda.bindings.driver import CUresult

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.executors.base import BufferArgument, FaultKind, ResolvedLaunch
from coding_framework.cuda.executors.emulator.faults import KernelFault
from coding_framework.cuda.executors.gpu import measurement, runner
from coding_framework.cuda.executors.gpu.arena import Arena
from coding_framework.cuda.executors.gpu.driver import CudaError
from coding_framework.cuda.executors.gpu.entry import PreparedLaunch, ptx_entries
from coding_framework.cuda.executors.gpu.layout import (
    GUARD_BYTES,
    arena_bytes,
    arena_sizes,
    lay_out,
    padded,
)
from coding_framework.cuda.executors.gpu.lease import gpu_lease
from coding_framework.cuda.executors.gpu.messages import (
    REFERENCE_EVERY,
    Array,
    DeviceFacts,
    MeasureOutcome,
    MeasureRequest,
    Program,
)
from coding_framework.cuda.executors.gpu.session import LoadedModule, Session
from coding_framework.cuda.executors.gpu.statistics import clocks_agree, median_interval, middle_interval
from coding_framework.cuda.inputs import plain_kinds
from coding_framework.cuda.rejection import Rejected
from coding_framework.cuda.timers import measured
from coding_framework.cuda.timers.measured import (
    WARM_UPS,
    array_of,
    distribution_of,
    input_sets,
    least_calls,
    measured_floor_us,
    num_kinds,
    secret_turns,
    typical_us,
    with_slots,
)
from coding_framework.data.tasks import all_tasks, get_task
from coding_framework.errors import DeviceFull
from coding_framework.evaluation.bench.kernels import BENCH_TASKS
from coding_framework.records import Task, Verdict

H200 = DeviceFacts("NVIDIA H200", "", 132, 1_980_000, 3_201_000, 6016, 62_914_560, 150 * 10**9)


@pytest.fixture(scope="module")
def ptx() -> str:
    source = (
        "struct Pair { int first; double second; };\n"
        'extern "C" __global__ void mixed(const float* x, float* y, int n, float s, '
        "Pair p, long long m, bool b) { y[0] = x[0] * s + n + p.first + p.second + m + b; }\n"
        'extern "C" __global__ void empty() {}\n'
    )
    with CUDACompiler() as compiler:
        compiled = compiler.compile(source)
    assert compiled.ptx is not None
    return compiled.ptx


def test_parameters_are_read_from_the_ptx_with_their_places(ptx: str) -> None:
    entries = ptx_entries(ptx)
    assert entries["mixed"].parameter_offsets == (0, 8, 16, 20, 24, 40, 48)
    assert entries["mixed"].parameter_bytes == 49
    assert entries["empty"].parameters == ()


def test_a_launch_that_does_not_fit_is_refused_in_the_emulators_words(ptx: str) -> None:
    launch = ResolvedLaunch("mixed", (1, 1, 1), (2048, 1, 1), 0, (BufferArgument("x"),))
    with pytest.raises(KernelFault, match="block extent x is 2048; the limit is 1024") as raised:
        PreparedLaunch(launch, ptx_entries(ptx)["mixed"], None, {"x": 4096})
    assert raised.value.fault.kind is FaultKind.INVALID_LAUNCH


def test_what_a_kernel_asks_of_its_launch_is_read_from_the_ptx() -> None:
    text = ".visible .entry k(\n.param .u64 k_param_0\n)\n.explicitcluster\n.reqnctapercluster 4, 1, 1\n{\n}"
    entry = ptx_entries(text)["k"]
    launch = ResolvedLaunch("k", (6, 1, 1), (32, 1, 1), 0, (BufferArgument("x"),))
    with pytest.raises(KernelFault, match="no multiple of the cluster"):
        PreparedLaunch(launch, entry, None, {"x": 4096})
    with pytest.raises(KernelFault, match="needs 79 registers a thread"):
        PreparedLaunch(replace(launch, block=(1024, 1, 1)), replace(entry, registers=79), None, {"x": 4096})


def test_a_pointer_hint_in_the_ptx_does_not_change_the_layout() -> None:
    text = ".visible .entry k(\n.param .u64 .ptr .global .align 1 k_param_0,\n.param .u32 k_param_1\n)"
    assert ptx_entries(text)["k"].parameter_offsets == (0, 8)


def test_text_in_inline_assembly_does_not_speak_for_a_kernel() -> None:
    declared = ".visible .entry k(\n.param .u64 k_param_0,\n.param .u32 k_param_1\n)\n{\n"
    for forged in (
        "// .entry k (.param .junk a)",
        "/*\n.entry k (.param .u8 a) */",
        'mov.u32 %r1, 0; .pragma ".entry k (.param .u8 a)";',
    ):
        assert ptx_entries(declared + forged + "\n}")["k"].parameter_offsets == (0, 8)
    for forged in (".entry k (.param .u8 a)", ".entry k (.param .junk a)"):
        with pytest.raises(KernelFault) as raised:
            ptx_entries(declared + forged + "\n}")
        assert raised.value.fault.kind is FaultKind.INVALID_LAUNCH


@pytest.mark.parametrize(
    ("text", "is_declared"),
    [
        (".visible .global .align 4 .u32 calls;", True),
        ("{ .global .u32 hidden;", True),
        (".param .u64 .ptr .global .align 4 k_param_0,", False),
        ("ld.global .f32 %f1, [%rd1];", False),
        ("ld.global.nc.f32 %f1, [%rd1];", False),
    ],
)
def test_variables_that_outlive_a_launch_are_found_wherever_they_are_declared(
    text: str, is_declared: bool
) -> None:
    assert bool(runner._GLOBAL.search(text)) is is_declared


def test_the_interval_holds_the_median_and_is_wider_than_the_noise_of_one_run() -> None:
    samples = np.random.default_rng(0).normal(50, 1, 50)
    median, (low, high) = median_interval(list(samples))
    assert low < median < high
    assert high - low > 2 * 0.03 * median
    assert median_interval([5.0] * 20)[0] == 5.0


def test_every_kind_of_input_counts_whichever_is_in_the_middle() -> None:
    quick, slow = [40.0] * 10, [100.0] * 9
    kinds = ["quick"] * 10 + ["slow"] * 9
    assert median_interval([*quick, *slow])[0] == 40.0
    middle, (low, high) = middle_interval([*quick, *slow], kinds)
    assert middle == 70.0
    assert (low, high) == (pytest.approx(0.97 * 70), pytest.approx(1.03 * 70))
    assert middle_interval([*slow, *quick], kinds[::-1])[0] == 70.0


def test_one_late_call_of_each_kind_changes_nothing() -> None:
    samples, kinds = [10.0, 20.0, 30.0] * 5, ["a", "b", "c"] * 5
    late = [1000.0, 1000.0, 1000.0, *samples[3:]]
    assert middle_interval(late, kinds)[0] == middle_interval(samples, kinds)[0] == 20.0


def test_a_kind_whose_calls_come_in_two_sizes_does_not_jump_between_them() -> None:
    four, six = ([80.0] * (10 - slow) + [110.0] * slow for slow in (4, 6))
    kinds = ["mixed"] * 10
    assert median_interval(six)[0] - median_interval(four)[0] == 30.0
    assert middle_interval(six, kinds)[0] - middle_interval(four, kinds)[0] == pytest.approx(7.5)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples_have_a_middle_too(count: int) -> None:
    assert middle_interval([10.0, 30.0, 20.0][:count], ["a"] * count)[0] == [10.0, 20.0, 20.0][count - 1]


def kinds_of_calls(task: Task) -> tuple[list[str], list[str]]:
    """What the warm-ups are drawn from, and what the timed calls are."""
    kinds = [distribution_of(task, number) for number in secret_turns(WARM_UPS + 50)]
    return kinds[:WARM_UPS], kinds[WARM_UPS:]


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_the_reference_meets_every_kind_of_input_as_often_as_the_candidate(task: Task) -> None:
    warm_ups, timed = kinds_of_calls(task)
    for calls in (timed, [*warm_ups, *timed][::REFERENCE_EVERY][WARM_UPS:]):
        found = Counter(calls)
        assert {*found} == {*plain_kinds(task), "mixed"}
        assert max(found.values()) - min(found.values()) <= 2


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_a_structure_to_look_for_is_verified_and_not_timed(task: Task) -> None:
    warm_ups, timed = kinds_of_calls(task)
    assert not {*timed} & {"integers", "constant_rows"}
    assert {*warm_ups, *timed} == {*task.distributions, "mixed"}


def test_the_kind_of_a_timed_call_does_not_follow_from_its_number() -> None:
    orders = [kinds_of_calls(get_task("softmax"))[1] for _ in range(40)]
    for kinds in zip(*orders, strict=True):
        assert len({*kinds}) > 1


def test_every_run_has_the_same_turns_and_its_reference_too() -> None:
    count = WARM_UPS + 50
    for _ in range(10):
        turns = secret_turns(count)
        assert sorted(turns) == list(range(count))
        assert turns[:WARM_UPS] == tuple(range(WARM_UPS))
        counted = turns[::REFERENCE_EVERY][WARM_UPS:]
        assert sorted(counted) == list(range(count))[::REFERENCE_EVERY][WARM_UPS:]


def test_times_belong_to_the_kinds_of_their_calls() -> None:
    task, turns = get_task("softmax"), secret_turns(WARM_UPS + 50)
    cost = {kind: 10.0 * place for place, kind in enumerate((*task.distributions, "mixed"), start=1)}
    calls = [cost[distribution_of(task, number)] for number in turns]
    expected = pytest.approx(float(np.mean(list(cost.values()))))
    assert typical_us(task, turns, calls)[0] == expected
    every = slice(None, None, REFERENCE_EVERY)
    assert typical_us(task, turns[every], calls[every])[0] == expected


@pytest.mark.parametrize("num_timed", [10, 15, 50])
def test_a_kernel_is_as_fast_as_itself_however_few_calls_there_are(num_timed: int) -> None:
    task, turns = get_task("softmax"), secret_turns(WARM_UPS + num_timed)
    cost = {kind: 10.0 * place for place, kind in enumerate((*task.distributions, "mixed"), start=1)}
    calls = [cost[distribution_of(task, number)] for number in turns]
    counted = turns[::REFERENCE_EVERY]
    mine = typical_us(task, turns, calls, beside=counted)[0]
    assert mine == pytest.approx(typical_us(task, counted, calls[::REFERENCE_EVERY])[0])


def test_the_place_of_a_call_tells_nothing_of_its_kind() -> None:
    task = get_task("softmax")
    for number in (WARM_UPS + 1, 20, 48):
        met = set()
        for _ in range(400):
            turns = secret_turns(WARM_UPS + 50)
            met.add((input_sets(task, turns)[number].place % 13, distribution_of(task, turns[number])))
        assert len({place for place, _ in met}) == 13 or number % REFERENCE_EVERY == 0
        for place in {place for place, _ in met}:
            assert len({kind for other, kind in met if other == place}) > 1


@pytest.mark.parametrize("name", ["scale", "softmax", "min_max", "row_sum_int32", "transpose"])
def test_whenever_a_slow_kernels_calls_end_each_kind_has_had_its_turn(name: str) -> None:
    task = get_task(name)
    kinds = {distribution_of(task, number) for number in range(WARM_UPS, 60)}
    assert len(kinds) == num_kinds(task)
    for count in range(least_calls(task), WARM_UPS + 50, REFERENCE_EVERY):
        turns = secret_turns(WARM_UPS + 50, num_kinds(task))
        assert sorted(turns) == list(range(WARM_UPS + 50))
        made = turns[:count]
        assert {distribution_of(task, number) for number in made[WARM_UPS:]} == kinds
        assert {distribution_of(task, number) for number in made[::REFERENCE_EVERY][WARM_UPS:]} == kinds


def test_the_order_within_a_few_calls_is_secret() -> None:
    assert len({secret_turns(53, 5) for _ in range(200)}) == 200


def request_of(
    inputs: tuple[Array, ...], outputs: tuple[Array, ...], scratch: tuple[Array, ...] = ()
) -> MeasureRequest:
    """An ordinary measurement of a program with these arrays."""
    program = Program("", b"", (), scratch)
    return MeasureRequest(
        device_index=0,
        harness_cubin=b"",
        candidate=program,
        reference=program,
        inputs=inputs,
        outputs=outputs,
        sets=input_sets(get_task("scale"), secret_turns(WARM_UPS + 50)),
    )


def floats(name: str, count: int) -> tuple[Array, ...]:
    return (Array(name, "float32", count),)


@pytest.mark.parametrize("num_slots", measured.NUMS_OF_SLOTS)
def test_every_place_is_taken_by_both_sides(num_slots: int) -> None:
    request = request_of(floats("x", 10), floats("y", 5), (Array("s", "int32", 1),))
    request = replace(request, num_slots=num_slots)
    numbers = range(WARM_UPS, WARM_UPS + 50)
    places = Counter(request.slot(number) for number in numbers)
    assert len(places) == num_slots
    assert max(places.values()) - min(places.values()) <= 1
    assert {request.slot(number) for number in numbers[::REFERENCE_EVERY]} == set(places)
    sizes = arena_sizes(request)
    for name, size in {
        "x": 40,
        "candidate scratch s": 4,
        "reference scratch s": 4,
        "reference y": 20,
    }.items():
        assert sizes[name] == (size, num_slots)


@pytest.mark.parametrize("num_slots", measured.NUMS_OF_SLOTS)
def test_places_are_as_many_as_fit_into_an_ordinary_arena(num_slots: int) -> None:
    request = request_of(floats("x", 100_000), floats("y", 10_000))
    room = arena_bytes(replace(request, num_slots=num_slots))
    assert with_slots(request, room).num_slots == num_slots
    assert with_slots(request, room - 1).num_slots < num_slots


def test_what_needs_a_larger_arena_takes_a_quarter_more_than_it_must() -> None:
    request = request_of(floats("x", 10_000), floats("y", 10_000))
    least = arena_bytes(request)
    placed = with_slots(request, least - 1)
    assert placed.num_slots > 1
    assert arena_bytes(placed) <= 1.25 * least
    assert with_slots(request_of(floats("x", 10_000_000), floats("y", 10)), 1000).num_slots == 1


@pytest.mark.parametrize("num_bytes", [2**24, 2**20, 3 * 2**20, 2**16])
def test_places_of_a_buffer_differ_in_every_bit_of_their_addresses(num_bytes: int) -> None:
    (place,) = lay_out({"y": (num_bytes, 53)}).places
    offsets = [place.slot(index) for index in range(place.num_slots)]
    varying = 0
    for offset in offsets:
        varying |= offset ^ offsets[0]
    bits = range(14, (2 * num_bytes - 1).bit_length())
    assert all(varying >> bit & 1 for bit in bits)


def test_guards_are_where_buffers_end_and_not_between_them() -> None:
    places = lay_out({"x": (10, 1), "y": (2**20, 3)}).places
    assert all(place.stride >= padded(place.num_bytes) + place.guard_bytes for place in places)
    assert [place.guard_bytes for place in places] == [GUARD_BYTES + 512 - 12, GUARD_BYTES]


def test_the_tasks_of_the_benchmarks_do_not_make_the_arena_grow() -> None:
    """Else memory in use would depend on which process has met which task."""
    for task in map(get_task, BENCH_TASKS):
        inputs, outputs = (
            tuple(array_of(spec, task.measured_shape) for spec in specs)
            for specs in (task.inputs, task.outputs)
        )
        request = request_of(inputs, outputs)
        placed = with_slots(request, H200.arena_bytes)
        assert arena_bytes(placed) <= H200.arena_bytes
        assert placed.num_slots == max(measured.NUMS_OF_SLOTS)


class Card:
    def __init__(self, free_bytes: int) -> None:
        self.free_bytes, self.taken_bytes = free_bytes, 0

    def cuMemAlloc(self, num_bytes: int) -> tuple[CUresult, int]:  # noqa: N802 - the driver's name
        if num_bytes > self.free_bytes:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        self.taken_bytes += num_bytes
        return CUresult.CUDA_SUCCESS, 4096

    def cuMemFree(self, address: int) -> tuple[CUresult]:  # noqa: N802
        self.taken_bytes = 0
        return (CUresult.CUDA_SUCCESS,)

    def cuIpcGetMemHandle(self, address: int) -> tuple[CUresult, bytes]:  # noqa: N802
        return CUresult.CUDA_SUCCESS, b"handle"


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    """A driver that answers as one with so many bytes free would."""
    made = Card(free_bytes=100)
    monkeypatch.setattr("coding_framework.cuda.executors.gpu.arena.driver", made)
    monkeypatch.setattr("coding_framework.cuda.executors.gpu.arena.handle_bytes", bytes)
    return made


def test_after_too_large_a_wish_the_next_one_gets_memory_and_not_address_zero(card: Card) -> None:
    arena = Arena(start_bytes=10, fair_bytes=50)
    assert arena.reserve(5) == 4096
    with pytest.raises(CudaError, match="OUT_OF_MEMORY"):
        arena.reserve(1000)
    assert (arena.capacity, arena.handle, card.taken_bytes) == (0, b"", 0)
    assert arena.reserve(5) == 4096
    assert (arena.capacity, arena.handle, card.taken_bytes) == (10, b"handle", 10)


def test_a_card_that_others_have_filled_is_no_fault_of_the_kernel(card: Card) -> None:
    card.free_bytes = 20
    with pytest.raises(DeviceFull, match="fewer workers"):
        Arena(start_bytes=10, fair_bytes=50).reserve(50)
    with pytest.raises(CudaError):
        Arena(start_bytes=10, fair_bytes=50).reserve(51)


class Memory:
    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes

    def cuMemGetInfo(self) -> tuple[CUresult, int, int]:  # noqa: N802 - the driver's name
        return CUresult.CUDA_SUCCESS, self.free_bytes, H200.memory_bytes


@pytest.mark.parametrize(("free_gib", "is_full"), [(1, True), (20, False)])
@pytest.mark.parametrize("error", ["CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_INVALID_VALUE"])
def test_a_kernel_that_finds_no_memory_is_at_fault_where_there_is_some(
    monkeypatch: pytest.MonkeyPatch, free_gib: int, is_full: bool, error: str
) -> None:
    monkeypatch.setattr("coding_framework.cuda.executors.gpu.session.driver", Memory(free_gib * 2**30))

    def fails() -> None:
        raise CudaError(getattr(CUresult, error))

    if is_full and error == "CUDA_ERROR_OUT_OF_MEMORY":
        with pytest.raises(DeviceFull, match="fewer workers"):
            measurement._guarded(session_on(H200), fails)
        return
    failed = measurement._guarded(session_on(H200), fails)
    assert failed is not None
    assert failed.fault is not None
    assert failed.fault.kind is FaultKind.INVALID_LAUNCH


def test_clocks_that_tell_different_stories_disagree() -> None:
    assert clocks_agree([200.0] * 5, [260.0] * 5)
    assert not clocks_agree([200.0] * 5, [2000.0] * 5)
    assert not clocks_agree([400.0] * 5, [200.0] * 5)


def outcome_with(wall_us: float) -> MeasureOutcome:
    return MeasureOutcome(None, span_us=(200.0,) * 9, wall_us=(wall_us,) * 9)


def test_a_host_that_was_busy_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(measured, "sleep", pauses.append)
    quiet = outcome_with(260.0)
    outcomes = iter([outcome_with(2000.0), quiet, outcome_with(250.0)])
    assert measured.until_clocks_agree(lambda: next(outcomes)) is quiet
    assert pauses == list(measured.PAUSES_S[:2])


def test_clocks_that_always_disagree_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(measured, "sleep", pauses.append)
    with pytest.raises(Rejected, match="200 us for a round and the host's clock 2000 us") as refused:
        measured.until_clocks_agree(lambda: outcome_with(2000.0))
    assert refused.value.verdict is Verdict.CLOCKS_DISAGREE
    assert pauses == list(measured.PAUSES_S)


def test_the_floor_counts_what_must_come_from_memory() -> None:
    task = get_task("vector_add")
    n = 100_000_000
    reads_us = 8 * n / H200.dram_bytes_per_us
    floor_us = measured_floor_us(task, {"n": n}, H200)
    assert reads_us < floor_us < 1.5 * reads_us
    assert measured_floor_us(task, {"n": 1}, H200) > 0


def test_a_product_by_tensor_cores_in_three_parts_is_not_too_fast() -> None:
    """It is as exact as the budget asks, and may be five times as fast as the lanes for float32."""
    task = get_task("matmul")
    lanes_us = task.operations.evaluate(task.measured_shape) / H200.operations_per_us("float32")
    floor_us = measured_floor_us(task, task.measured_shape, H200)
    assert lanes_us / 6 < floor_us <= lanes_us * 3 / 16
    halves = get_task("matmul_half")
    halves_us = halves.operations.evaluate(halves.measured_shape) / H200.operations_per_us("float16")
    assert measured_floor_us(halves, halves.measured_shape, H200) == pytest.approx(halves_us)


@pytest.mark.parametrize(("local_bytes", "keeps"), [(0, False), (1024, False), (16_384, True)])
def test_local_memory_is_admitted_and_remembered(local_bytes: int, keeps: bool) -> None:
    here = session_on(H200)
    here.admit(module_with(local_bytes))
    here.admit(module_with(0))
    assert here.keeps_memory is keeps


def test_local_memory_that_would_fill_the_card_is_refused() -> None:
    here = session_on(H200)
    with pytest.raises(KernelFault, match="256,000 bytes of arrays") as raised:
        here.admit(module_with(256_000))
    assert raised.value.fault.kind is FaultKind.INVALID_LAUNCH
    assert not here.keeps_memory


def session_on(card: DeviceFacts) -> Session:
    """With nothing but what is known of the card."""
    here = Session.__new__(Session)
    here.facts = card
    return here


def module_with(local_bytes: int) -> LoadedModule:
    module = LoadedModule.__new__(LoadedModule)
    module.local_bytes = local_bytes
    return module


def test_peaks_are_those_of_the_data_sheet() -> None:
    assert H200.dram_bytes_per_us == pytest.approx(4.81e6, rel=0.01)
    assert H200.operations_per_us("float32") == pytest.approx(67e6, rel=0.02)
    assert Array("x", "bfloat16", 3).num_bytes == 6


def test_the_lease_is_held_by_one_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(20):
            with gpu_lease(0):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1


def test_timings_go_before_those_who_would_share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    order: list[str] = []

    def use(name: str) -> None:
        with gpu_lease(0, shared=name == "check"):
            order.append(name)

    threads = [threading.Thread(target=use, args=(name,)) for name in ("check", "timing", "timing")]
    with gpu_lease(0):
        for waiting, thread in enumerate(threads, start=1):
            thread.start()
            deadline = time.monotonic() + 20
            while num_waiting(tmp_path) < waiting:
                assert time.monotonic() < deadline
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == ["timing", "timing", "check"]


def num_waiting(folder: Path) -> int:
    """How many wait for a lock on a file of this folder, by the kernel's own list."""
    inodes = {str(path.stat().st_ino) for path in folder.iterdir()}
    lines = Path("/proc/locks").read_text().splitlines()
    return sum("->" in line and line.split()[6].split(":")[-1] in inodes for line in lines)


def test_those_who_share_are_in_together_and_a_timing_waits_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    timed = threading.Event()

    def timing() -> None:
        with gpu_lease(0):
            timed.set()

    thread = threading.Thread(target=timing)
    with gpu_lease(0, shared=True):
        with ThreadPoolExecutor(1) as others:
            others.submit(_share_for_a_moment).result(timeout=5)
        thread.start()
        assert not timed.wait(0.05)
    assert timed.wait(5)
    thread.join()


def _share_for_a_moment() -> None:
    with gpu_lease(0, shared=True):
        pass
