"""What computes a held-out task is not trained on, whatever it is called and however it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_support import OWN_FOLDER, checkout, function

from coding_framework.config import TasksConfig
from coding_framework.data.sources.module_text import normal_module
from coding_framework.data.tasks.split import overlap_of, training_tasks
from coding_framework.errors import ConfigError

pytest.importorskip("torch")

TWO = "torch.rand(rows, cols), torch.rand(rows, cols)"
HELD_OUT_IN_DISGUISE = {
    "activation": (function("0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))"), "gelu"),
    "sums": (function("torch.cumsum(x, dim=1)"), "prefix_sum"),
    "summed_columns": (function("3.0 * torch.sum(x, dim=0, keepdim=True)"), "row_sum"),
    "error": (function("F.mse_loss(p, q)", "p, q", TWO), "mse_rows"),
    "halved": (
        function("F.max_pool2d(x, 2)", inputs="torch.rand(4, 3, rows, cols)"),
        "max_pool_2d",
    ),
}
FREE = {
    "relu": function("torch.relu(x)"),
    "product": function("a * b", "a, b", TWO),
    "tanh_of_sum": function("torch.tanh(torch.sum(x, dim=1))"),
}


def test_modules_that_compute_a_held_out_task_are_left_out_and_named(tmp_path: Path) -> None:
    sources = {name: source for name, (source, _) in HELD_OUT_IN_DISGUISE.items()} | FREE
    config = TasksConfig(sources=(str(checkout(tmp_path, sources)),))
    left_out = {one.task.split("_", 3)[3]: one.why for one in overlap_of(config).left_out}
    assert left_out == {
        name: f"it computes what {same} computes, which is held out"
        for name, (_, same) in HELD_OUT_IN_DISGUISE.items()
    }
    assert len(training_tasks(config)) == len(FREE)


def test_a_held_out_module_keeps_out_its_own_text_its_equals_and_tasks_of_the_catalogue(
    tmp_path: Path,
) -> None:
    held_out = {"silu": function("x * torch.sigmoid(x)")}
    renamed = function("y * torch.sigmoid(y)", "y").replace("rows = 48", "rows = 96")
    trained = {"renamed": renamed, "rewritten": function("x / (1 + torch.exp(-x))"), **FREE}
    test, train = checkout(tmp_path / "test", held_out, 1), checkout(tmp_path / "train", trained, 2)
    config = TasksConfig(
        sources=("catalogue", str(test), str(train)), held_out=("kernelbench_level1_1_silu",)
    )
    left_out = {one.task: one.why for one in overlap_of(config).left_out}
    assert set(left_out) == {"silu", "kernelbench_level2_1_renamed", "kernelbench_level2_2_rewritten"}
    assert "its text is that of" in left_out["kernelbench_level2_1_renamed"]
    assert "it computes what" in left_out["silu"]


def test_a_naive_kernel_that_passes_as_a_held_out_task_of_integers_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "from coding_framework.data.tasks import get_task\n"
        "task = get_task('prefix_sum_int32').model_copy(\n"
        "    update={'name': 'running_total', 'family': 'own', 'title': 'Running total'}\n"
        ")\n"
        "task = task.model_copy(update={'baseline': task.baseline + '\\n// in another dress\\n'})\n"
    )
    (tmp_path / "disguised_tasks.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    config = TasksConfig(sources=("catalogue", "disguised_tasks:task"), train=("running_total", "matmul"))
    (left_out,) = overlap_of(config).left_out
    assert left_out.task == "running_total"
    assert "prefix_sum_int32" in left_out.why


def test_a_family_that_is_never_trained_on_keeps_its_tasks_out_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (OWN_FOLDER / "own_tasks.py").read_text().replace('family="mirror"', 'family="scan"')
    (tmp_path / "scanning_tasks.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    config = TasksConfig(sources=("catalogue", "scanning_tasks:tasks"), held_out=("scale",))
    assert {one.task: one.why for one in overlap_of(config).left_out} == dict.fromkeys(
        ("mirror_rows", "mirror_columns"), "its family scan is never trained on"
    )
    assert {"mirror_rows", "mirror_columns"}.isdisjoint(task.name for task in training_tasks(config))


def test_nothing_left_to_train_on_is_refused_with_the_reason(tmp_path: Path) -> None:
    one = checkout(tmp_path / "one", {"relu": FREE["relu"]}, 1)
    same = checkout(tmp_path / "same", {"rectified": FREE["relu"]}, 2)
    config = TasksConfig(sources=(str(one), str(same)), held_out=("kernelbench_level1_1_relu",))
    with pytest.raises(ConfigError, match="all 1 compute what is held out, kernelbench_level2_1_rectified"):
        training_tasks(config)


def test_the_form_of_a_module_knows_no_names_and_sizes_but_every_operation() -> None:
    source = function("torch.relu(x) * 2.0")
    same = source.replace("(self, x)", "(self, values)").replace("(x)", "(values)").replace("48", "17")
    assert normal_module(same) == normal_module(source)
    assert normal_module(source.replace("2.0", "3.0")) != normal_module(source)
    assert normal_module(source.replace("relu", "tanh")) != normal_module(source)
