"""`KernelBenchLoader`: any file in KernelBench's form is a task, with shapes that no candidate knows."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from archive_support import SCALE_MODULE, problem, write_lines, write_table
from kernelbench_sources import SOURCES

from coding_framework.cuda.executors.host.verifier.task_source import integer_constants, override_constants
from coding_framework.data.archives.difficulty import difficulty_of
from coding_framework.data.archives.hidden_constants import MAX_ELEMENTS, derive_hidden_constants
from coding_framework.data.archives.input_shapes import input_shapes
from coding_framework.data.archives.problems import LoadReport
from coding_framework.data.archives.verified_constants import (
    verified_hidden_constants,
    with_verified_constants,
)
from coding_framework.data.kernelbench_loader import KernelBenchLoader, KernelBenchProblem
from coding_framework.errors import MissingExtraError, UserError
from coding_framework.records import ModuleTask

SOFTMAX = SOURCES["softmax"]


def load(source: str | Path, **options: Any) -> tuple[list[KernelBenchProblem], LoadReport]:
    stream = KernelBenchLoader(source, **options).problems()
    problems = list(stream)
    return problems, stream.report


def hub_row(number: int, **changes: Any) -> dict[str, Any]:
    source = f"# problem {number}\n{SOFTMAX}"
    return {"code": source, "level": 1, "name": f"{number}_Softmax", "problem_id": number, **changes}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two levels, a script that is no problem, and three files that are broken."""
    root = tmp_path / "checkout"
    for level in ("level1", "level2"):
        (root / "KernelBench" / level).mkdir(parents=True)
    level1, level2 = root / "KernelBench" / "level1", root / "KernelBench" / "level2"
    (level1 / "2_Product.py").write_text(SOURCES["product"])
    (level1 / "10_Softmax.py").write_text(SOFTMAX)
    (level1 / "__init__.py").write_text("")
    (level2 / "1_Conv.py").write_text(SOURCES["convolution"])
    (level2 / "2_NoInputs.py").write_text(SOFTMAX.replace("def get_inputs", "def inputs"))
    (level2 / "3_Syntax.py").write_text(SOFTMAX + "\ndef broken(:\n")
    (level2 / "4_Bytes.py").write_bytes(b"\xff\xfe\x00")
    (root / "setup.py").write_text("print('no problem')")
    return root


# ---- where problems come from ------------------------------------------------------------------------


def test_a_checkout_gives_its_problems_by_level_and_number(checkout: Path) -> None:
    problems, report = load(checkout)
    assert [(p.level, p.problem_id, p.task.name) for p in problems] == [
        (1, 2, "kernelbench_level1_2_Product"),
        (1, 10, "kernelbench_level1_10_Softmax"),
        (2, 1, "kernelbench_level2_1_Conv"),
    ]
    assert report.problems_by_kind == {"broken_module": 2, "unreadable_file": 1}
    words = {Path(p.file).name: p.words for p in report.problems}
    assert words["2_NoInputs.py"] == "does not define get_inputs"
    assert "not Python" in words["3_Syntax.py"]


def test_the_folder_of_levels_itself_and_single_levels_can_be_given(checkout: Path) -> None:
    inner = checkout / "KernelBench"
    assert load(inner)[0] == load(checkout)[0]
    assert [p.task.name for p in load(inner / "level1")[0]] == [
        "kernelbench_level1_2_Product",
        "kernelbench_level1_10_Softmax",
    ]
    assert {p.level for p in load(checkout, levels=frozenset({2}))[0]} == {2}


def test_any_file_in_the_form_is_a_task(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SCALE_MODULE)
    task = next(KernelBenchLoader(file).tasks())
    assert isinstance(task, ModuleTask)
    assert (task.name, task.source) == ("mine", SCALE_MODULE)
    assert task.hidden_constants


def test_any_folder_works_and_names_tell_its_files_apart(tmp_path: Path) -> None:
    for folder, name in (("a", "product"), ("b", "softmax")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(SOURCES[name])
    assert [task.name for task in KernelBenchLoader(tmp_path).tasks()] == ["a_same", "b_same"]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_tables_with_the_columns_of_the_hub_are_read(tmp_path: Path, suffix: str) -> None:
    rows = [hub_row(1), hub_row(2, code="x = 1"), hub_row(3, level=4), hub_row(4, level=0)]
    write = write_lines if suffix == "jsonl" else write_table
    problems, report = load(write(tmp_path / f"a.{suffix}", rows))
    assert [p.task.name for p in problems] == ["kernelbench_level1_1_Softmax", "kernelbench_level4_3_Softmax"]
    assert report.problems_by_kind == {"broken_module": 1, "out_of_range": 1}
    assert [p.row for p in report.problems] == [2, 4]


def test_missing_columns_and_wrong_types_are_reported(tmp_path: Path) -> None:
    rows = [{"code": SOFTMAX}, hub_row(1, name=3), hub_row(2, level="1"), hub_row(3)]
    problems, report = load(write_lines(tmp_path / "a.jsonl", rows))
    assert len(problems) == 1
    assert report.problems_by_kind == {"missing_column": 1, "wrong_type": 2}


def test_a_data_set_is_streamed_through_datasets_and_kept(tmp_path: Path) -> None:
    for level in (1, 2, 3, 4):
        rows = [hub_row(10 * level + n, level=level) for n in range(3)]
        write_table(tmp_path / "set" / "data" / f"level_{level}-00000-of-00001.parquet", rows)
    options = {"through_datasets": True, "cache_folder": tmp_path / "cache"}
    problems, report = load(tmp_path / "set", **options)
    assert [p.level for p in problems] == [level for level in (1, 2, 3, 4) for _ in range(3)]
    assert report.complete
    (tmp_path / "set").rename(tmp_path / "gone")
    assert load(tmp_path / "set", **options)[0] == problems


def test_the_same_source_comes_once_and_a_pass_can_be_resumed(tmp_path: Path) -> None:
    rows = [hub_row(n) for n in range(8)] + [hub_row(3, problem_id=9)]
    loader = KernelBenchLoader(write_lines(tmp_path / "a.jsonl", rows), seed=2)
    stream = loader.tasks()
    whole = [task.name for task in stream]
    assert len(whole) == 8
    assert stream.report.rows_repeated == 1
    assert [task.name for task in loader.tasks(skip=5)] == whole[5:]
    assert whole != [f"kernelbench_level1_{n}_Softmax" for n in range(8)]


def test_what_is_not_there_or_not_in_the_form_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("")
    with pytest.raises(UserError, match="there is no file or folder"):
        KernelBenchLoader(tmp_path / "missing.py")
    with pytest.raises(UserError, match="neither a Python file nor a table"):
        KernelBenchLoader(tmp_path / "kernel.cu")
    with pytest.raises(UserError, match="holds no Python file"):
        KernelBenchLoader(tmp_path)


def test_without_the_datasets_library_the_hub_cannot_be_read_and_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"coding_framework\[train\]"):
        next(KernelBenchLoader(cache_folder=tmp_path).problems())


# ---- the static check ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (SOFTMAX.replace("class Model", "class Network"), "does not define class Model"),
        (SOFTMAX.replace("get_init_inputs", "get_init"), "does not define get_init_inputs"),
        (SOFTMAX.replace("get_inputs()", "get_inputs(n)"), "get_inputs cannot be called without arguments"),
        (
            SOFTMAX.replace("get_inputs()", "get_inputs(*, n)"),
            "get_inputs cannot be called without arguments",
        ),
        (SOFTMAX.replace("def forward", "def run"), "class Model has no forward"),
        ("import torch\n", "does not define class Model, get_inputs, get_init_inputs"),
        ("def (", "not Python"),
        ("x = 1\0", "not Python"),
    ],
)
def test_a_source_that_lacks_something_is_told_what(tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "a.py").write_text(source)
    problems, report = load(tmp_path)
    assert problems == []
    assert words in report.problems[0].words


@pytest.mark.parametrize(
    "source",
    [
        SOFTMAX.replace("get_inputs()", "get_inputs(n=3)"),
        SOFTMAX.replace("class Model(nn.Module)", "class Base(nn.Module)")
        + "\nclass Model(Base):\n    pass\n",
        SOFTMAX.replace("class Model(nn.Module)", "class Model(nn.ReLU)").replace("def forward", "def other"),
    ],
)
def test_unusual_but_complete_sources_are_accepted(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(source)
    assert len(load(tmp_path)[0]) == 1


def test_loading_executes_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "a.py").write_text(f"open({str(marker)!r}, 'w').close()\n{SOFTMAX}")
    assert len(load(folder)[0]) == 1
    assert not marker.exists()


def test_loading_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOFTMAX)
    code = (
        "import sys; from coding_framework.data.kernelbench_loader import KernelBenchLoader; "
        "print(len(list(KernelBenchLoader(sys.argv[1]).tasks())), 'torch' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert answer.stdout.split() == ["1", "False"], answer.stderr


# ---- difficulty ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "level", "tier"),
    [
        ("scaled_relu", 1, 0),
        ("nothing_to_vary", 1, 0),
        ("sum_over_axis", 1, 1),
        ("max_pooling", 1, 1),
        ("product", 1, 2),
        ("softmax", 1, 2),
        ("convolution", 1, 2),
        ("batch_norm", 1, 2),
        ("attention", 1, 3),
        ("recurrent_with_hidden_state", 1, 3),
        ("scaled_relu", 2, 2),
        ("scaled_relu", 3, 3),
        ("scaled_relu", 4, 3),
        ("scaled_relu", None, 0),
    ],
)
def test_the_tier_follows_from_level_and_operation(name: str, level: int | None, tier: int) -> None:
    assert difficulty_of(name, SOURCES[name], level) == tier


def test_a_matrix_times_a_vector_is_easier_than_a_product() -> None:
    assert difficulty_of("4_Matrix_vector_multiplication_", SOURCES["product"], 1) == 1


def test_a_chain_of_operations_and_long_code_are_harder() -> None:
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return {}"
    chain = problem(model.format("torch.tanh(torch.relu(x) * 2 + 1)"), "n = 8", "torch.rand(n)")
    assert difficulty_of("chain", chain, None) == 1
    assert difficulty_of("chain", chain, 2) == 3
    assert difficulty_of("chain", chain, 1) == 0
    long = SOURCES["product"] + "\ndef other():\n" + "    x = 1\n" * 70
    assert difficulty_of("product", long, 1) == 3


# ---- hidden shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_every_derived_shape_runs_without_having_been_verified(name: str) -> None:
    from coding_framework.data.archives.shape_probe import choice_defect

    assert choice_defect(SOURCES[name], {}) is None
    for choice in derive_hidden_constants(SOURCES[name]):
        assert choice_defect(SOURCES[name], choice) is None, choice


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_derived_shape_names_constants_of_the_source_and_changes_them(name: str) -> None:
    constants = integer_constants(SOURCES[name])
    choices = derive_hidden_constants(SOURCES[name])
    assert bool(choices) == (name != "nothing_to_vary")
    for choice in choices:
        assert all(value >= 1 and value != constants[constant] for constant, value in choice.items())
        override_constants(SOURCES[name], choice)


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"nothing_to_vary"}))
def test_one_shape_is_larger_and_one_is_odd(name: str) -> None:
    constants = integer_constants(SOURCES[name])
    choices = derive_hidden_constants(SOURCES[name])
    assert any(all(v > constants[n] for n, v in choice.items()) for choice in choices)
    assert any(all(v % 2 for v in choice.values()) for choice in choices)
    assert any(all(v < constants[n] for n, v in choice.items()) for choice in choices)


def test_windows_divisors_and_axes_are_left_alone() -> None:
    varied = {name: {n for c in derive_hidden_constants(SOURCES[name]) for n in c} for name in SOURCES}
    assert "kernel_size" not in varied["convolution"]
    assert varied["group_norm"] == {"batch_size"}
    assert "reduce_dim" not in varied["sum_over_axis"]
    assert varied["attention"] == {"seq_len"}
    assert varied["flattened_network"] == {"batch_size"}
    assert varied["max_pooling"].isdisjoint({"kernel_size", "stride"})


def test_constants_that_nothing_uses_for_inputs_are_left_alone() -> None:
    source = SOFTMAX.replace("batch_size = 16", "batch_size = 16\nnum_trials = 100\nseed = 42")
    assert derive_hidden_constants(source) == derive_hidden_constants(SOFTMAX)


def test_the_larger_shape_stays_reasonable() -> None:
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)"
    names = ["a", "b", "c", "d"]
    source = problem(model, "\n".join(f"{n} = 128" for n in names), f"torch.rand({', '.join(names)})")
    shapes, constants = input_shapes(source), integer_constants(source)
    assert shapes.num_elements(constants) == 128**4 > MAX_ELEMENTS
    for choice in derive_hidden_constants(source):
        assert shapes.num_elements({**constants, **choice}) <= 128**4 * 5 // 4
    assert any(max(choice.values()) > 128 for choice in derive_hidden_constants(source))


def test_shapes_are_followed_through_tuples_and_derived_names() -> None:
    source = problem(
        "class Model(nn.Module):\n    def forward(self, x, y):\n        return x",
        "batch = 4\nwide = 2 * 8\ntwice = wide * 2\nshape = (wide, twice)",
        "torch.rand(batch, *shape), torch.zeros(size=(batch, 3))",
    )
    arrays = [[ast.unparse(extent) for extent in array] for array in input_shapes(source).arrays]
    assert arrays == [["batch", "wide", "wide * 2"], ["batch", "3"]]
    assert input_shapes(source).num_elements({"batch": 4, "wide": 16}) == 4 * 16 * 32 + 12


def test_constants_written_as_products_can_be_overridden() -> None:
    source = "a = 1024 * 2\nb, c = 3, 4 + 1\nd = e = 8\nf = a * 2\ng = 'x'\nh = -3\n"
    assert integer_constants(source) == {"a": 2048, "b": 3, "c": 5, "d": 8}
    namespace: dict[str, Any] = {}
    exec(override_constants(source, {"a": 3, "c": 7, "d": 9}), namespace)
    assert [namespace[n] for n in "abcdef"] == [3, 3, 7, 9, 9, 6]


# ---- verified shapes -----------------------------------------------------------------------------------


def test_only_what_runs_is_kept_and_the_rest_has_a_reason() -> None:
    task = ModuleTask(
        name="heads",
        source=SOURCES["attention"],
        hidden_constants=(
            {"seq_len": 3, "batch": 2},
            {"seq_len": 5, "embed_dim": 30},
            {"embed_dim": 31},
            {"heads": 8},
        ),
    )
    result = verified_hidden_constants(task, timeout_s=60)
    assert result.kept == ({"seq_len": 3, "batch": 2}, {"seq_len": 5}, {"heads": 8})
    assert [dropped.constants for dropped in result.dropped] == [
        {"seq_len": 5, "embed_dim": 30},
        {"embed_dim": 31},
    ]
    assert all("divisible" in dropped.words for dropped in result.dropped)
    assert not result.timed_out


def test_a_reference_that_hangs_is_killed_and_what_it_answered_counts() -> None:
    slow = SOFTMAX.replace(
        "batch_size = 16", "import time\nbatch_size = 16\nif batch_size > 16: time.sleep(600)"
    )
    task = ModuleTask(name="slow", source=slow, hidden_constants=({"batch_size": 3}, {"batch_size": 17}))
    result = verified_hidden_constants(task, timeout_s=15)
    assert result.timed_out
    assert result.kept == ({"batch_size": 3},)
    assert result.dropped[0].constants == {"batch_size": 17}
    assert "no answer within 15 s" in result.dropped[0].words


def test_a_reference_that_kills_its_process_loses_its_shapes_and_nothing_else() -> None:
    deadly = "import os\n" + SOFTMAX.replace(
        "batch_size = 16", "batch_size = 16\nif batch_size == 5: os._exit(7)"
    )
    choices = ({"batch_size": 3}, {"batch_size": 5}, {"batch_size": 7})
    task = ModuleTask(name="deadly", source=deadly, hidden_constants=choices)
    result = verified_hidden_constants(task)
    assert result.kept == ({"batch_size": 3}, {"batch_size": 7})
    assert [(d.constants, d.words) for d in result.dropped] == [
        ({"batch_size": 5}, "ended its process with status 7")
    ]
    assert not result.timed_out


def test_a_shape_beyond_the_memory_limit_is_dropped() -> None:
    task = ModuleTask(name="huge", source=SOFTMAX, hidden_constants=({"dim": 1 << 32}, {"dim": 5}))
    result = verified_hidden_constants(task)
    assert result.kept == ({"dim": 5},)
    assert "memory" in result.dropped[0].words


def test_a_loader_verifies_shapes_when_asked(tmp_path: Path) -> None:
    source = problem(  # the layer's size is a plain number: the name does not show that they belong together
        "class Model(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(64, 8)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)",
        "batch_size = 16\nfeatures = 64",
        "torch.rand(batch_size, features)",
    )
    (tmp_path / "a.py").write_text(source)
    unverified = next(KernelBenchLoader(tmp_path).tasks())
    assert any("features" in choice for choice in unverified.hidden_constants)
    verified = next(KernelBenchLoader(tmp_path, verify_shapes=True).tasks())
    assert verified.hidden_constants == ({"batch_size": 1}, {"batch_size": 9}, {"batch_size": 19})


def test_nothing_is_started_where_there_is_nothing_to_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    task = ModuleTask(name="fixed", source=SOURCES["nothing_to_vary"])
    assert with_verified_constants(task).hidden_constants == ()
