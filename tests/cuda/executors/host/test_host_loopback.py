"""Verifier and child in one process, without a sandbox: what each finds out about the other's memory."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from host_support import HONEST, TASK, module

from coding_framework.cuda.executors.host.child import program
from coding_framework.cuda.executors.host.child.program import Child
from coding_framework.cuda.executors.host.exchange.protocol import (
    LENGTH,
    Configure,
    Load,
    Open,
    Profile,
    Rehearse,
    Run,
    pack_request,
    unpack_reply,
)
from coding_framework.cuda.executors.host.verifier import service
from coding_framework.cuda.executors.host.verifier.records import (
    SetFill,
    SetReport,
    ShapeFacts,
    ShapeJob,
    TaskUnusable,
)

torch = pytest.importorskip("torch")
KEY = "loopback"
FIRST, SECOND = SetFill(0, 11, "normal", 3), SetFill(1, 11, "normal", 4)
Answer = dict[str, Any]


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def facts(tmp_path: Path) -> ShapeFacts:
    (tmp_path / "arena").touch()
    prepared = service.prepare(job(tmp_path))
    assert isinstance(prepared, ShapeFacts)
    return prepared


def job(folder: Path, source: str = TASK.source) -> ShapeJob:
    return ShapeJob(
        key=KEY,
        task="task",
        source=source,
        overrides={"batch": 5},
        device="cpu",
        gpu_index=0,
        arena_path=str(folder / "arena"),
        num_sets=3,
        flush_bytes=1024,
        relative=1e-3,
        absolute=1e-3,
        seed=5,
    )


def configured(facts: ShapeFacts, body: str, **parts: str) -> Child:
    child = Child()
    assert child.answer(Open("a", KEY, facts.arena, facts.layout)) == {}
    source = module(body, **parts).source
    loaded = child.answer(Load("b", "module", "ModelNew", source, device="cpu"))
    assert loaded == {}
    assert child.answer(Configure("c", KEY, facts.init_inputs, facts.init_seed)) == {}
    return child


def run(child: Child, fill: SetFill) -> Answer:
    service.fill(KEY, fill)
    reply = child.answer(Run("d", KEY, fill.index, fill.flush_value))
    service.collect(KEY, fill.index)
    return reply


def test_an_honest_call_is_right_and_leaves_everything_else_as_it_was(facts: ShapeFacts) -> None:
    child = configured(facts, HONEST)
    replies = [run(child, fill) for fill in (FIRST, SECOND)]
    reports = service.examine(KEY, (FIRST, SECOND))
    assert all(reply["time_us"] > 0 for reply in replies)
    assert [report.right for report in reports] == [True, True]
    assert [report.num_unwritten for report in reports] == [0, 0]
    assert all(report.flushed and report.changed is None for report in reports)
    assert not any(report.guard_broken or report.late_write or report.differs for report in reports)


def disturbed(facts: ShapeFacts, disturb: Callable[[Any], None]) -> SetReport:
    """Run honestly, then change something in the exchange memory before the verifier looks again."""
    run(configured(facts, HONEST), FIRST)
    disturb(service._shapes[KEY])
    return service.examine(KEY, (FIRST,))[0]


def test_a_result_in_another_order_of_elements_is_put_in_order_within_the_clock(facts: ShapeFacts) -> None:
    moments: list[str] = []
    child = configured(facts, "return self.right(x).t().contiguous().t()")
    instance, stop = child._instances[KEY], child._clock.stop
    functions = instance._torch
    instance._torch = replace(
        functions, contiguous=lambda value: moments.append("ordered") or functions.contiguous(value)
    )
    child._clock.stop = lambda: moments.append("stopped") or stop()
    run(child, FIRST)
    assert moments == ["ordered", "stopped"]
    assert service.examine(KEY, (FIRST,))[0].right


def test_an_output_that_changes_after_the_call_is_seen(facts: ShapeFacts) -> None:
    assert disturbed(facts, lambda shape: shape.output_slots(0)[0].add_(1)).late_write


def test_a_changed_input_is_named(facts: ShapeFacts) -> None:
    assert disturbed(facts, lambda shape: shape.read_slots(0)[0][0, 0].add_(1)).changed == "x"


def test_a_changed_weight_is_named(facts: ShapeFacts) -> None:
    report = disturbed(facts, lambda shape: shape.read_slots(0)[1].zero_())
    assert report.changed == "linear.weight"


def test_a_byte_between_two_tensors_is_watched(facts: ShapeFacts) -> None:
    start = facts.layout.guard_ranges(0)[0][0]
    assert disturbed(facts, lambda shape: shape.arena.raw(start, 1).zero_()).guard_broken


def test_a_flush_that_was_left_out_is_seen(facts: ShapeFacts) -> None:
    flush = facts.layout.flush
    assert not disturbed(facts, lambda shape: shape.arena.view(flush)[-1:].add_(1)).flushed


def test_the_flush_of_every_call_is_looked_at_before_the_next_takes_its_place(facts: ShapeFacts) -> None:
    child = configured(facts, HONEST)
    run(child, FIRST)
    service._shapes[KEY].arena.view(facts.layout.flush)[:1].add_(1)
    run(child, SECOND)
    assert [report.flushed for report in service.examine(KEY, (FIRST, SECOND))] == [False, True]
    for fill in (FIRST, SECOND):
        run(child, fill)
    assert all(report.flushed for report in service.examine(KEY, (FIRST, SECOND)))


def test_elements_that_nobody_wrote_are_counted(facts: ShapeFacts) -> None:
    service.fill(KEY, FIRST)
    service.collect(KEY, 0)
    report = service.examine(KEY, (FIRST,))[0]
    assert report.num_unwritten == report.num_wrong == 5 * 96


def test_the_same_seed_puts_the_same_bytes_into_different_sets(facts: ShapeFacts) -> None:
    for fill in (FIRST, SECOND, SetFill(2, 12, "normal", 0)):
        service.fill(KEY, fill)
    first, second, third = ([t.clone() for t in service._shapes[KEY].read_slots(i)] for i in range(3))
    assert all(map(torch.equal, first, second))
    assert not any(map(torch.equal, first, third))


def test_a_shape_that_is_forgotten_is_gone(facts: ShapeFacts) -> None:
    service.forget(KEY)
    service.forget(KEY)
    with pytest.raises(KeyError):
        service.fill(KEY, FIRST)


def test_between_two_candidates_outputs_are_not_kept(facts: ShapeFacts) -> None:
    service.fill(KEY, FIRST)
    service.collect(KEY, 0)
    service.rest("cpu")
    assert not service._shapes[KEY].collected
    service.fill(KEY, SECOND)


def with_memory(monkeypatch: pytest.MonkeyPatch, *, free: int, total: int) -> None:
    where = "coding_framework.cuda.executors.host.verifier.prepared.memory_bytes"
    monkeypatch.setattr(where, lambda device: (free, total))


def test_sets_are_fewer_where_little_memory_is_free(
    facts: ShapeFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sets, expected in ((2.5, 2), (3.5, 3), (9.5, 3)):
        shape_bytes = sets * facts.layout.set_bytes + 1024 + 512  # the flush region and its guard
        with_memory(monkeypatch, free=int(10 * shape_bytes), total=2**40)
        prepared = service.prepare(job(tmp_path))
        assert isinstance(prepared, ShapeFacts)
        assert prepared.layout.num_sets == expected


def test_memory_that_others_hold_is_the_machines_fault_and_a_task_too_large_is_not(
    facts: ShapeFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_memory(monkeypatch, free=2 * facts.layout.set_bytes, total=2**40)
    short = service.prepare(job(tmp_path))
    assert isinstance(short, TaskUnusable)
    assert short.for_now
    assert "fewer workers" in short.words
    with_memory(monkeypatch, free=4 * facts.layout.set_bytes, total=4 * facts.layout.set_bytes)
    large = service.prepare(job(tmp_path))
    assert isinstance(large, TaskUnusable)
    assert not large.for_now
    assert "too many for this device" in large.words


def test_a_device_that_is_full_is_not_a_task_that_has_no_float64(tmp_path: Path) -> None:
    forward = "        return torch.relu(self.linear(x))\n"
    assert forward in TASK.source
    full = "        if x.dtype is torch.float64:\n            raise torch.OutOfMemoryError('full')\n"
    with pytest.raises(torch.OutOfMemoryError, match="full"):
        service.prepare(job(tmp_path, TASK.source.replace(forward, full + forward)))


def test_structured_and_plain_inputs_are_drawn_in_their_kind(tmp_path: Path) -> None:
    source = (
        "import torch\n"
        "batch = 4\n"
        "class Model(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.norm = torch.nn.BatchNorm1d(6)\n"
        "    def forward(self, a, mask, share, factor):\n"
        "        return self.norm(torch.tril(a) * mask * share * factor), mask.sum(0)\n"
        "def get_inputs():\n"
        "    lower = torch.tril(torch.randn(batch, 6))\n"
        "    return [lower, torch.randint(0, 2, (batch, 6)), torch.rand(batch, 6), 2.5]\n"
        "def get_init_inputs(): return []\n"
    )
    (tmp_path / "arena").touch()
    facts = service.prepare(job(tmp_path, source))
    assert isinstance(facts, ShapeFacts), facts
    reference = service._shapes[KEY].reference
    assert [template.kind for template in reference.templates] == [
        "structured",
        "structured",
        "unit",
        "constant",
    ]
    drawn = reference.draw(3, "small")
    assert torch.equal(drawn.inputs[0], torch.tril(drawn.inputs[0]))
    assert drawn.inputs[1].dtype == torch.int64
    assert 0 <= float(drawn.inputs[2].min()) <= float(drawn.inputs[2].max()) < 0.011
    assert drawn.inputs[3] == 2.5
    assert float(drawn.parameters[1].abs().sum()) > 0  # a bias that starts as zeros does not stay so
    assert [output.dtype for output in facts.layout.call.outputs] == ["float32", "int64"]


def test_a_distribution_that_the_reference_cannot_bear_is_left_out(tmp_path: Path) -> None:
    source = TASK.source.replace("torch.relu(self.linear(x))", "torch.exp(8 * x)")
    (tmp_path / "arena").touch()
    facts = service.prepare(job(tmp_path, source))
    assert isinstance(facts, ShapeFacts)
    assert "normal" in facts.distributions
    assert "large" not in facts.distributions


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({"body": "return x"}, "aliased"),
        ({"body": "return self.right(x).to_sparse()"}, "device"),
        ({"body": "return [self.right(x), x]"}, "count"),
        ({"body": "raise ValueError('oh')"}, "raised"),
        ({"body": "return torch.zeros(2, 2)"}, "shape"),
        ({"body": "return self.right(x).double()"}, "dtype"),
        ({"body": "return 3.0"}, "type"),
    ],
)
def test_the_child_names_what_it_sees(facts: ShapeFacts, parts: dict[str, str], kind: str) -> None:
    assert run(configured(facts, **parts), FIRST)["problem"] == kind


def test_a_source_that_cannot_be_loaded_says_which_way(facts: ShapeFacts) -> None:
    def problem(source: str) -> object:
        return Child().answer(Load("b", "module", "ModelNew", source, device="cpu"))["problem"]

    assert problem("def") == "compile"
    assert problem("raise RuntimeError('Error building extension')") == "compile"
    assert problem("raise RuntimeError('no')") == "raised"
    assert problem("ModelNew = 3") == "no_class"


def answer_to_init(facts: ShapeFacts, init: str) -> Answer:
    child = Child()
    child.answer(Open("a", KEY, facts.arena, facts.layout))
    child.answer(Load("b", "module", "ModelNew", module("return x", init=init).source, device="cpu"))
    return child.answer(Configure("c", KEY, facts.init_inputs, facts.init_seed))


def test_a_constructor_that_raises_is_told_with_its_line(facts: ShapeFacts) -> None:
    reply = answer_to_init(facts, "raise ValueError('oh')")
    assert reply["problem"] == "raised"
    assert "ValueError: oh (line 11 of the source)" in reply["words"]


def test_parameters_must_be_those_of_the_reference_by_name_or_by_shape(facts: ShapeFacts) -> None:
    reply = answer_to_init(facts, "self.linear = nn.Linear(3, 3)")
    assert reply["problem"] == "state"
    assert "`linear.weight` of shape (96, 96)" in reply["words"]
    renamed = "del self.linear\nself.w = nn.Parameter(torch.empty(size, size))\n"
    assert answer_to_init(facts, renamed + "self.b = nn.Parameter(torch.empty(size))") == {}


def test_a_profile_on_the_cpu_has_no_kernels(facts: ShapeFacts) -> None:
    child = configured(facts, HONEST)
    service.fill(KEY, FIRST)
    assert child.answer(Rehearse("d", "cpu")) == {"sees_kernels": False}
    assert child.answer(Profile("e", KEY, FIRST.index, FIRST.flush_value)) == {
        "kernels": {},
        "early": "",
        "is_blind": False,
    }
    service.collect(KEY, FIRST.index)
    assert all(report.right for report in service.examine(KEY, (FIRST,)))


def test_the_child_serves_requests_until_the_pipe_closes(facts: ShapeFacts) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, pack_request(Open("a", KEY, facts.arena, facts.layout)))
    os.write(write_end, pack_request(Load("b", "module", "Missing", "x = 1", device="cpu")))
    os.close(write_end)
    sent = io.BytesIO()
    Child().serve(lambda: program.read_request(read_end), lambda frame: sent.write(frame))
    os.close(read_end)
    replies = []
    data = sent.getvalue()
    while data:
        length = LENGTH.unpack(data[: LENGTH.size])[0]
        replies.append(unpack_reply(data[LENGTH.size : LENGTH.size + length]))
        data = data[LENGTH.size + length :]
    assert "ready" in replies[0]
    assert replies[1] == {"token": "a"}
    assert replies[2] == {"token": "b", "problem": "no_class", "words": "the source defines no class Missing"}


def test_half_a_request_ends_the_child() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, pack_request(Open("a", "b", None, None))[:-3])  # type: ignore[arg-type]
    os.close(write_end)
    assert program.read_request(read_end) is None
    os.close(read_end)


def test_settling_asks_for_full_precision_and_absolute_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "triton_cache")
    before = torch.get_float32_matmul_precision()
    try:
        program.settle()
        assert torch.get_float32_matmul_precision() == "highest"
        assert not torch.is_grad_enabled()
        assert os.environ["TRITON_CACHE_DIR"] == str(Path.cwd() / "triton_cache")
    finally:
        torch.set_grad_enabled(True)
        torch.set_float32_matmul_precision(before)


def test_what_is_sent_of_the_constructors_arguments_is_a_pickle(facts: ShapeFacts) -> None:
    assert pickle.loads(facts.init_inputs) == (96,)
    assert facts.init_values == (("size", 96),)
