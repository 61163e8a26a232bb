"""The parts of judging host code that need neither a child nor a GPU."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from coding_framework.config import JudgeConfig
from coding_framework.cuda.executors.gpu.ipc import handle_bytes, set_handle_bytes
from coding_framework.cuda.executors.gpu.messages import DeviceFacts
from coding_framework.cuda.executors.host.arguments import NoForward, forward_parameters, plan_arguments
from coding_framework.cuda.executors.host.bench import BASE, REFERENCE, TaskBench
from coding_framework.cuda.executors.host.channel import Channel, ChildEnded, ChildNonsense, ChildSilent
from coding_framework.cuda.executors.host.child_request import child_request
from coding_framework.cuda.executors.host.clocks import Block, hold_against_wall
from coding_framework.cuda.executors.host.coverage import is_own, own_share, require_kernels
from coding_framework.cuda.executors.host.exchange.layout import (
    ALIGNMENT,
    ArenaLayout,
    CallShape,
    Constant,
    TensorShape,
)
from coding_framework.cuda.executors.host.exchange.protocol import LENGTH, Load, Profile, cut, pack_reply
from coding_framework.cuda.executors.host.kernels import own_kernel_names, without_kernels
from coding_framework.cuda.executors.host.outcome import HostTiming
from coding_framework.cuda.executors.host.rejection import reject_fault, reject_problem
from coding_framework.cuda.executors.host.session import CandidateProblem
from coding_framework.cuda.executors.host.timing import disagreement_words, floor
from coding_framework.cuda.executors.host.verifier.task_source import execute_source, override_constants
from coding_framework.cuda.rejection import Rejected
from coding_framework.cuda.sandbox.base import SandboxResult
from coding_framework.errors import JudgeFault, UserError
from coding_framework.records import Candidate, Verdict


def tensor(name: str, *shape: int) -> TensorShape:
    return TensorShape(name, shape or (4,), "float32")


CALL = CallShape(
    inputs=(tensor("x", 3, 5), Constant(2.5)),
    parameters=(tensor("bias"), tensor("conv.weight"), tensor("conv.bias")),
    buffers=(),
    outputs=(tensor("y", 7),),
)


# --- memory ---------------------------------------------------------------------------------------


def test_both_sides_have_blocks_of_the_same_length_where_the_second_found_less_memory() -> None:
    layouts = {BASE: 10, REFERENCE: 7, "hidden 0": 2}
    shapes = {name: SimpleNamespace(layout=ArenaLayout(CALL, count, 1000)) for name, count in layouts.items()}
    bench = SimpleNamespace(shapes=shapes)
    assert TaskBench.calls_per_block.fget(bench) == 7  # type: ignore[attr-defined]


def test_no_two_tensors_or_guards_overlap() -> None:
    layout = ArenaLayout(CALL, num_sets=3, flush_bytes=1000)
    taken: list[tuple[int, int]] = []
    for index in range(3):
        placed = layout.set_map(index)
        taken += [(item.offset, item.end) for item in placed.tensors]
        *guards, behind_flush = layout.guard_ranges(index)
        taken += guards
        assert placed.flush == layout.flush
        assert all(item.offset % ALIGNMENT == 0 for item in placed.tensors)
    taken += [(layout.flush.offset, layout.flush.end), behind_flush]
    taken.sort()
    assert all(first[1] <= second[0] for first, second in pairwise(taken))
    assert taken[-1] == behind_flush
    assert behind_flush[1] == layout.total_bytes


def test_compulsory_bytes_are_inputs_parameters_and_outputs() -> None:
    assert CALL.compulsory_bytes == 4 * (15 + 3 * 4 + 7)


def test_a_handle_of_the_driver_survives_as_bytes() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    first, second = driver.CUipcMemHandle(), driver.CUipcMemHandle()
    set_handle_bytes(first, bytes(range(64)))
    set_handle_bytes(second, handle_bytes(first))
    assert handle_bytes(second) == bytes(range(64))
    with pytest.raises(JudgeFault, match="64 bytes, not 3"):
        set_handle_bytes(first, b"abc")


# --- clocks ---------------------------------------------------------------------------------------


def block(wall_us: Sequence[float], claimed_us: Sequence[float], left_us: float = 8.0) -> Block:
    return Block(tuple(wall_us), tuple(claimed_us), (left_us,) * len(wall_us))


def blocks(call_us: float, claimed_us: float, overhead_us: float = 60.0, left_us: float = 8.0) -> list[Block]:
    walls = [call_us + overhead_us + jitter for jitter in (0, 0.3, 0.6)]
    return [block((wall,) * 10, (claimed_us,) * 10, left_us) for wall in walls]


def test_an_honest_claim_stands() -> None:
    held = hold_against_wall(blocks(50, 50), blocks(80, 80))
    assert held.agree
    assert held.median_us == pytest.approx(50, abs=1)
    assert held.overhead_us == pytest.approx(60, abs=1)


def test_a_claim_far_below_the_wall_clock_is_refused() -> None:
    assert not hold_against_wall(blocks(50, 5), blocks(80, 80)).agree


def test_two_processes_differ_by_a_tenth_of_what_the_harness_takes_and_that_is_no_lie() -> None:
    assert not hold_against_wall(blocks(100, 37, overhead_us=60), blocks(80, 80, overhead_us=60)).agree
    busy = hold_against_wall(blocks(100, 37, overhead_us=1200), blocks(80, 80, overhead_us=1200))
    assert busy.agree
    assert busy.median_us == pytest.approx(37), "the device's clock is the better one"
    assert not hold_against_wall(blocks(250, 37, overhead_us=1200), blocks(80, 80, overhead_us=1200)).agree


def test_a_long_kernel_may_take_longer_around_it_but_not_for_ever() -> None:
    reference = blocks(355, 355, overhead_us=1200)
    assert hold_against_wall(blocks(2800, 2400, overhead_us=1200), reference).agree
    assert hold_against_wall(blocks(12300, 11900, overhead_us=1200), reference).agree
    assert hold_against_wall(blocks(55_500, 54_000, overhead_us=1200), reference).agree
    assert not hold_against_wall(blocks(56_000, 54_000, overhead_us=1200), reference).agree
    held = hold_against_wall(blocks(13000, 11900, overhead_us=1200), reference)
    assert not held.agree
    assert "the wall clock leaves 13000" in disagreement_words(held)


def test_work_that_goes_on_after_the_call_shows_on_the_busiest_machine() -> None:
    reference = blocks(80, 80, overhead_us=5000)
    held = hold_against_wall(blocks(5, 5, overhead_us=5000, left_us=48), reference)
    assert not held.agree
    assert "goes on for 40.0 us" in disagreement_words(held)
    assert hold_against_wall(blocks(5, 5, overhead_us=5000, left_us=10), reference).agree
    assert hold_against_wall(blocks(500, 500, overhead_us=5000, left_us=100), reference).agree


def test_a_few_microseconds_after_a_call_are_added_to_it() -> None:
    reference = blocks(80, 80, overhead_us=5000)
    held = hold_against_wall(blocks(14, 14, overhead_us=5000, left_us=18), reference)
    assert held.agree
    assert held.median_us == pytest.approx(24, abs=1)
    assert hold_against_wall(blocks(14, 14, overhead_us=5000, left_us=9), reference).median_us == 14


def test_a_host_that_was_held_up_between_two_launches_is_no_lie() -> None:
    late = [block((5070.0,) * 50, (10.0,) * 49 + (4000.0,))] * 3
    assert hold_against_wall(late, blocks(80, 80, overhead_us=5060)).agree
    many = [block((5070.0,) * 50, (10.0,) * 44 + (4000.0,) * 6)] * 3
    held = hold_against_wall(many, blocks(80, 80, overhead_us=5060))
    assert not held.agree
    assert "far more for many others" in disagreement_words(held)


def test_a_whole_block_done_in_its_first_call_is_refused() -> None:
    cheat = [block((560.0, *(60.1,) * 9), (500.0, *(0.1,) * 9))] * 3
    assert not hold_against_wall(cheat, blocks(80, 80)).agree


def test_one_true_claim_does_not_cover_for_the_others() -> None:
    held = hold_against_wall([block((110.0,) * 10, (50.0, *(1.0,) * 9))] * 3, blocks(80, 80))
    assert not held.agree


def test_calls_that_had_to_wait_for_the_machine_do_not_count() -> None:
    waited = [block((*(110.0,) * 6, *(510.0,) * 4), (50.0,) * 10)] * 3
    held = hold_against_wall(waited, blocks(80, 80))
    assert held.agree
    assert held.median_us == pytest.approx(50, abs=1)


def noisy(call_us: float, claimed_us: float, num_blocks: int, seed: int) -> list[Block]:
    """On a machine that adds 1200 us to a call, give or take 160."""
    added = np.random.default_rng(seed).normal(1200, 160, (num_blocks, 10))
    return [block(tuple(call_us + row), (claimed_us,) * 10) for row in added]


def test_a_lie_shows_through_the_noise_and_the_truth_stands() -> None:
    for seed in range(20):
        reference = noisy(80, 80, 5, 1000 + seed)
        assert not hold_against_wall(noisy(350, 1, 5, seed), reference).agree
        assert hold_against_wall(noisy(40, 40, 5, seed), reference).agree


def test_a_call_that_a_busy_machine_slowed_down_is_no_lie() -> None:
    quick, slow = (50.0,) * 9, 400.0
    calls = (*quick, slow)
    mine = [block(tuple(60 + us for us in calls), calls)] * 2 + [block((110.0,) * 10, (50.0,) * 10)]
    held = hold_against_wall(mine, blocks(80, 80))
    assert held.agree
    assert held.median_us == pytest.approx(50, abs=1)


def test_what_the_harness_takes_is_not_in_the_candidate_s_hands() -> None:
    """It may disturb the reference's blocks beside its own, and not those after it is gone."""
    alone = blocks(80, 80, overhead_us=250)
    for disturbed in (blocks(80, 80, overhead_us=304), [*alone[:1], *blocks(80, 80, overhead_us=280)]):
        held = hold_against_wall(blocks(60, 4, overhead_us=250), disturbed, alone)
        assert not held.agree
    assert hold_against_wall(blocks(60, 4, overhead_us=250), blocks(80, 80, overhead_us=304)).agree


def bench(card: DeviceFacts | None) -> SimpleNamespace:
    base = SimpleNamespace(layout=ArenaLayout(CALL, 2, 512), card=card)
    return SimpleNamespace(base=base, task=SimpleNamespace(bytes_moved=None))


def card(l2_bytes: int = 0) -> DeviceFacts:
    """One that takes ten microseconds for the bytes of a call: a bus of a byte, two transfers a clock."""
    clock_khz = CALL.compulsory_bytes * 100 // 2
    return DeviceFacts("card", "", 1, 1, clock_khz, 8, l2_bytes, 2**30)


def test_nothing_is_faster_than_its_bytes() -> None:
    assert floor(bench(card()), 20.0) == (pytest.approx(10), pytest.approx(0.5))  # type: ignore[arg-type]
    with pytest.raises(Rejected, match="work is missing") as caught:
        floor(bench(card()), 8.0)  # type: ignore[arg-type]
    assert caught.value.verdict is Verdict.TOO_FAST
    assert floor(bench(None), 1.0) == (None, None)  # type: ignore[arg-type]


def test_outputs_may_stay_in_the_cache() -> None:
    least, share = floor(bench(card(l2_bytes=8)), 20.0)  # type: ignore[arg-type]
    assert least == pytest.approx(10 * (1 - 8 / CALL.compulsory_bytes))
    assert share == pytest.approx(0.5)
    least, _ = floor(bench(card(l2_bytes=2**20)), 20.0)  # type: ignore[arg-type]
    assert least == pytest.approx(10 * (1 - CALL.output_bytes / CALL.compulsory_bytes))


def test_a_measured_time_becomes_a_record_that_can_be_scored() -> None:
    timing = HostTiming(
        device="card",
        median_us=10,
        interval_us=(9, 11),
        claimed_us=10,
        wall_us=10,
        overhead_us=60,
        reference_median_us=20,
        reference_interval_us=(19, 21),
        num_samples=50,
        floor_us=5,
        own_kernel_share=0.9,
    )
    record = timing.as_kernel_timing()
    assert record.speedup == 2
    assert record.kind == "measured"


# --- how an extension is called -------------------------------------------------------------------

HEAD = "#include <torch/extension.h>\n"
EXPORT = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &run); }\n'


def planned(
    signature: str, call: CallShape = CALL, init: tuple[tuple[str, object], ...] = ()
) -> list[object]:
    source = f"{HEAD}torch::Tensor run({signature}) {{ return x; }}\n{EXPORT}"
    found = plan_arguments(forward_parameters(source), call, init)
    return [(item.kind, item.indices or item.index if item.kind != "value" else item.value) for item in found]


def test_parameters_are_found_by_name_and_numbers_among_the_inputs() -> None:
    arguments = planned(
        "torch::Tensor x, const at::Tensor& conv_weight, torch::Tensor conv_bias, float s, torch::Tensor bias"
    )
    assert arguments == [("input", 0), ("parameter", 1), ("parameter", 2), ("input", 1), ("parameter", 0)]


def test_parameters_under_other_names_come_in_order() -> None:
    call = CallShape((tensor("x"),), (tensor("a"), tensor("b")), (), (tensor("y"),))
    assert planned("torch::Tensor in, torch::Tensor w, torch::Tensor c", call) == [
        ("input", 0),
        ("parameter", 0),
        ("parameter", 1),
    ]


def test_vectors_get_the_parameters_in_groups() -> None:
    names = [f"net.{i}.{kind}" for i in (0, 2) for kind in ("weight", "bias")]
    call = CallShape((tensor("x"),), tuple(map(tensor, names)), (), (tensor("y"),))
    signature = (
        "torch::Tensor x, const std::vector<torch::Tensor>& weights, std::vector<torch::Tensor> biases"
    )
    assert planned(signature, call) == [("input", 0), ("parameters", (0, 2)), ("parameters", (1, 3))]
    assert planned("torch::Tensor x, std::vector<torch::Tensor> all", call)[1] == ("parameters", (0, 1, 2, 3))


def test_numbers_of_the_constructor_come_by_name_or_by_place() -> None:
    call = CallShape((tensor("x"),), (), (), (tensor("y"),))
    init = (("channels", 3), ("stride", 2), ("padding", 1))
    assert planned("torch::Tensor x, int64_t padding, int stride", call, init)[1:] == [
        ("value", 1),
        ("value", 2),
    ]
    assert planned("torch::Tensor x, int s, int p", call, init)[1:] == [("value", 2), ("value", 1)]


def test_what_has_a_default_may_be_left_out() -> None:
    call = CallShape((tensor("x"),), (), (), (tensor("y"),))
    assert planned("torch::Tensor x, int blocks = 3", call) == [("input", 0)]


def test_a_parameter_without_a_counterpart_is_said() -> None:
    call = CallShape((tensor("x"),), (), (), (tensor("y"),))
    with pytest.raises(NoForward, match="`more` has no counterpart"):
        planned("torch::Tensor x, torch::Tensor more", call)


def test_a_lambda_can_be_exported() -> None:
    source = HEAD + 'PYBIND11_MODULE(e, m) { m.def("forward", [](torch::Tensor a, int n) { return a; }); }'
    assert [item.kind for item in forward_parameters(source)] == ["tensor", "value"]


@pytest.mark.parametrize("source", [HEAD, HEAD + EXPORT])
def test_a_source_without_a_forward_says_so(source: str) -> None:
    with pytest.raises(NoForward):
        forward_parameters(source)


# --- own kernels ----------------------------------------------------------------------------------

CUDA = """
template <typename T> __global__ void scale(T* x, int n) { if (n) { x[0] = 2; } }
__global__ void late(float* x);
static __device__ float twice(float v) { return 2 * v; }
extern "C" __global__ void __launch_bounds__(256) late(float* x) { x[1] = twice(x[0]); }
"""


def test_kernels_are_emptied_and_nothing_else() -> None:
    candidate = Candidate(source=CUDA, contract="extension")
    assert own_kernel_names(candidate) == {"scale", "late"}
    emptied = without_kernels(candidate).source
    assert "scale(T* x, int n) { return;" in emptied
    assert "late(float* x) { return;" in emptied
    assert "return 2 * v;" in emptied


def test_kernels_in_a_modules_strings_and_triton_functions_count() -> None:
    source = f'import triton\nCODE = r"""{CUDA}"""\n@triton.jit\ndef add(x):\n    return x + 1\n'
    source += "def host(x):\n    return 3\n"
    candidate = Candidate(source=source, contract="module")
    assert own_kernel_names(candidate) == {"scale", "late", "add"}
    emptied = without_kernels(candidate).source
    assert "scale(T* x, int n) { return;" in emptied
    assert "x + 1" not in emptied
    assert "return 3" in emptied


@pytest.mark.parametrize("attribute", ["__cluster_dims__(2, 1)", "__maxnreg__(64)", "__launch_bounds__(8)"])
def test_attributes_do_not_hide_a_kernel(attribute: str) -> None:
    source = f"__global__ void {attribute} scale(float* x) {{ x[0] = 1; }}"
    candidate = Candidate(source=source, contract="extension")
    assert own_kernel_names(candidate) == {"scale"}
    assert without_kernels(candidate).source == source.replace("{", "{ return;")


def test_a_module_without_kernels_has_none() -> None:
    assert not own_kernel_names(Candidate(source="y = 1", contract="module"))
    broken = Candidate(source="def", contract="module")
    assert not own_kernel_names(broken)
    assert without_kernels(broken) == broken


def test_the_share_of_own_kernels_is_by_time() -> None:
    times = {"void scale<float>(float*, int)": 3.0, "ampere_sgemm_128x64_tn": 1.0}
    assert own_share(times, frozenset({"scale"})) == 0.75
    assert own_share({}, frozenset({"scale"})) is None
    assert is_own("void (anonymous namespace)::scale<4>(int)", frozenset({"scale"}))
    assert is_own("scale", frozenset({"scale"}))
    assert not is_own("void rescale(float*)", frozenset({"scale"}))
    assert is_own("void mine::scale<4>(int)", frozenset({"scale"}), frozenset({"mine"}))
    assert not is_own("void pytorch_flash::scale<4>(int)", frozenset({"scale"}), frozenset({"mine"}))
    assert not is_own("void at::scale<4>(int)", frozenset({"scale"}), frozenset({"at"}))


def test_a_kernel_with_the_name_of_a_library_s_is_not_taken_for_it() -> None:
    library = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float)"
    assert not is_own(library, frozenset({"vectorized_elementwise_kernel"}))
    assert not is_own("void cutlass::Kernel2<x>(y)", frozenset({"Kernel2"}))
    named_alike = "__global__ void ampere_sgemm_128x64_tn(float* x) { x[0] = 1; }"
    with pytest.raises(Rejected, match="`ampere_sgemm_128x64_tn` is called like one of the library's"):
        require_kernels(Candidate(source=named_alike, contract="extension"))


# --- task sources ---------------------------------------------------------------------------------


def test_constants_are_replaced_with_what_follows_from_them() -> None:
    source = "n = 4\nheight, width = 8, 9\nshape = (n, width)\nname = 'x'\n"
    namespace: dict[str, object] = {}
    exec(override_constants(source, {"n": 5, "width": 1}), namespace)
    assert namespace["shape"] == (5, 1)
    assert override_constants(source, {}) == source


@pytest.mark.parametrize("name", ["name", "missing", "shape"])
def test_only_integers_of_the_top_level_can_be_replaced(name: str) -> None:
    with pytest.raises(UserError, match="no module-level integer constant"):
        override_constants("name = 'x'\nshape = (1, 2)\n", {name: 3})


def test_a_task_that_does_not_run_says_why() -> None:
    with pytest.raises(UserError, match="ZeroDivisionError"):
        execute_source("1 / 0", "broken")


# --- talking to a child ---------------------------------------------------------------------------


class Pipes:
    """A process that is only its two pipes."""

    def __init__(self) -> None:
        inside, ours = os.pipe()
        reading, self.say = os.pipe()
        self.stdin, self.stdout = os.fdopen(ours, "wb", 0), os.fdopen(reading, "rb", 0)
        self.inside = inside

    def close(self) -> None:
        for stream in (self.stdin, self.stdout):
            stream.close()


def soon() -> float:
    return time.monotonic() + 0.2


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (pack_reply({"token": "other"}), ChildNonsense),
        (LENGTH.pack(2**31), ChildNonsense),
        (LENGTH.pack(3) + b"[1]", ChildNonsense),
        (LENGTH.pack(4) + b"\xff\xfe\xfd\xfc", ChildNonsense),
        (LENGTH.pack(40_000) + b"[" * 40_000, ChildNonsense),
        (b"", ChildSilent),
        (LENGTH.pack(10) + b"half", ChildSilent),
    ],
)
def test_what_is_no_answer_is_not_taken_for_one(said: bytes, fault: type[Exception]) -> None:
    pipes = Pipes()
    os.write(pipes.say, said)
    with pytest.raises(fault):
        Channel(pipes).exchange(Profile("token", "base", 0, 1), soon())  # type: ignore[arg-type]
    pipes.close()


def test_a_child_that_does_not_read_is_silent() -> None:
    pipes = Pipes()
    with pytest.raises(ChildSilent, match="does not read"):
        Channel(pipes).send(Load("t", "module", "M", "x" * 10**6), soon())  # type: ignore[arg-type]
    pipes.close()


def test_a_child_that_is_gone_has_ended() -> None:
    pipes = Pipes()
    os.close(pipes.inside)
    with pytest.raises(ChildEnded):
        Channel(pipes).send(Profile("t", "base", 0, 1), soon())  # type: ignore[arg-type]
    os.close(pipes.say)
    with pytest.raises(ChildEnded):
        Channel(pipes).receive(soon())  # type: ignore[arg-type]
    pipes.close()


def ending(how: str, code: int | None = None, stderr: bytes = b"") -> SandboxResult:
    return SandboxResult.model_validate(
        {
            "ended_by": how,
            "exit_code": code,
            "signal": 9 if how == "signal" else None,
            "stdout": b"",
            "stderr": stderr,
            "duration_s": 1,
        }
    )


def test_ends_are_told_in_words() -> None:
    ended = reject_fault(ChildEnded("it ended"), ending("exit", 0, b"oh no"), "running", 3)
    assert ended.verdict is Verdict.CRASHED
    assert str(ended) == "its process ended before the check, while running (exit code 0): oh no"
    killed = reject_fault(ChildEnded("it ended"), ending("timeout"), "running", 3)
    assert killed.verdict is Verdict.TIMEOUT
    crashed = reject_fault(ChildEnded("it ended"), ending("signal"), "running", 3)
    assert "crash in native code" in str(crashed)


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("CUDA error: an illegal memory access was encountered", Verdict.OUT_OF_BOUNDS),
        ("CUDA error: misaligned address", Verdict.MISALIGNED),
        ("CUDA error: invalid configuration argument", Verdict.INVALID_LAUNCH),
        ("ValueError: no", Verdict.CRASHED),
    ],
)
def test_cuda_errors_get_their_own_verdicts(words: str, verdict: Verdict) -> None:
    assert reject_problem(CandidateProblem("raised", words), "running", hidden=False).verdict is verdict


def test_long_words_are_cut_at_their_beginning() -> None:
    assert cut("a" * 5000 + "end").endswith("end")
    assert len(cut("a" * 5000)) == 2001


def test_a_child_sees_python_and_this_package_and_nothing_of_ours_in_its_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    request = child_request(JudgeConfig(gpu_indices=(1,)), device="cuda", wall_s=10, arena_files=())
    assert "SECRET_TOKEN" not in request.environment
    assert request.environment["CUDA_VISIBLE_DEVICES"] == "5"
    assert request.gpu
    assert request.limits.memory_bytes == 16 * 2**30
    assert Path.home() not in request.readable
    assert not any(Path.cwd() == place or place in Path.cwd().parents for place in request.readable)
