"""Where tasks come from: every kind of source keeps the same promises, and says what is wrong with it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from archive_support import archive_row, write_lines
from source_support import OWN, OWN_FOLDER, SAXPY, archive, checkout, every_kind, function

from coding_framework.agents.prompts import generator_messages
from coding_framework.config import FrameworkConfig, TasksConfig
from coding_framework.cuda.task_identity import task_digest
from coding_framework.data.sources.book import find_task, read_sources, task_book
from coding_framework.data.sources.opening import open_source
from coding_framework.data.sources.protocol import BrokenTask, KernelSource
from coding_framework.data.sources.run_tasks import changes_since, lost_oracles, with_kept_tasks
from coding_framework.data.tasks.split import training_tasks
from coding_framework.errors import ConfigError, NotAvailableError, UnknownTaskError, UserError
from coding_framework.records import ModuleTask, Task

KINDS = ("catalogue", "kernelbench checkout", "archive file", "problem", "own code", "real archive")


@pytest.fixture(autouse=True)
def _own_code_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(OWN_FOLDER)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_sound_tasks_in_the_same_order_with_prompts_and_known_kernels_of_them(
    kind: str, tmp_path: Path
) -> None:
    named = every_kind(tmp_path).get(kind)
    if named is None:
        pytest.skip("the rows of the real archive are not here")
    source = open_source(named)
    tasks = [item for item in source.tasks() if not isinstance(item, BrokenTask)]
    assert tasks
    assert [task.name for task in tasks] == [
        task.name for task in source.tasks() if not isinstance(task, BrokenTask)
    ]
    assert len({task.name for task in tasks}) == len(tasks)
    for task in tasks:
        system, asked = generator_messages(task)
        assert asked.content.strip()
        assert ("launch" in system.content) == isinstance(task, Task)
        if isinstance(task, ModuleTask):
            assert ("PYBIND11_MODULE" in system.content) == (task.contract == "extension")
        assert 0 <= task.tier <= 3
        assert task.family
        assert len(task_digest(task)) == 16
    if isinstance(source, KernelSource):
        assert {kernel.task for kernel in source.kernels()} <= {task.name for task in tasks}


def test_a_run_keeps_its_tasks_whatever_becomes_of_their_sources(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "checkout", {"doubled_sine": function("2.0 * torch.sin(x)")})
    sources = (str(folder), str(SAXPY), OWN)
    config = FrameworkConfig(tasks=TasksConfig(sources=sources, held_out=("scale",)))
    before = {task.name: task for task in training_tasks(config.tasks)}
    kept = with_kept_tasks(config, tmp_path).tasks
    file = folder / "KernelBench" / "level1" / "1_doubled_sine.py"
    file.write_text(file.read_text().replace("2.0", "3.0"))
    read_sources.cache_clear()

    after = {task.name: task for task in training_tasks(kept)}
    assert list(after) == list(before)
    for name, task in after.items():
        again = pickle.loads(pickle.dumps(task))  # as it crosses to the judge's processes
        assert task_digest(again) == task_digest(before[name])
        assert again.prompt == before[name].prompt if isinstance(task, Task) else again == before[name]
    assert [words for words in changes_since(kept) if "1_doubled_sine" in words]
    file.unlink()
    read_sources.cache_clear()
    assert "can no longer be read" in next(changes_since(kept))
    assert isinstance(find_task(kept, "kernelbench_level1_1_doubled_sine"), ModuleTask)


def test_a_task_of_own_code_that_is_another_one_now_is_refused_when_its_oracle_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "shifting_tasks.py"
    code = (OWN_FOLDER / "own_tasks.py").read_text()
    module.write_text(code)
    monkeypatch.chdir(tmp_path)
    config = FrameworkConfig(tasks=TasksConfig(sources=("shifting_tasks:tasks",), held_out=("scale",)))
    kept = with_kept_tasks(config, tmp_path).tasks
    module.write_text(code.replace("xp.flip(inputs", "2.0 * xp.flip(inputs"))
    _forget("shifting_tasks")
    task = find_task(kept, "mirror_rows")
    assert isinstance(task, Task)
    with pytest.raises(ConfigError, match=r"'mirror_rows' of 'shifting_tasks:tasks' is another one"):
        task_digest(task)
    assert len(list(lost_oracles(kept))) == 2, "the plan of a run that is taken up again refuses both"


def _forget(module: str) -> None:
    """As in a new process."""
    import sys

    from coding_framework.data.sources import own

    sys.modules.pop(module)
    own._tasks.cache_clear()
    own._same_oracle.cache_clear()


def test_what_is_broken_is_counted_and_named(tmp_path: Path) -> None:
    rows = [
        archive_row(1),
        archive_row(2, CUDA_Runtime=-1.0),
        archive_row(3, PyTorch_Code_Module="import torch"),
    ]
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "good.cu").write_text(SAXPY.read_text())
    (folder / "no_header.cu").write_text("__global__ void k() {}\n")
    (folder / "no_module.py").write_text("x = 1\n")
    book = read_sources((str(archive(tmp_path / "a.jsonl", rows)), str(folder)))
    archived, files = book.reports
    assert (archived.tasks, sum(one.count for one in archived.broken)) == (1, 2)
    assert "a.jsonl:2 CUDA_Runtime" in archived.sentence
    assert files.tasks == 1
    assert "no_header.cu" in files.sentence
    assert "no_module.py" in files.sentence


def test_an_archive_without_a_sound_row_leaves_nothing_to_train_on(tmp_path: Path) -> None:
    source = str(archive(tmp_path / "a.jsonl", [archive_row(1, CUDA_Runtime=-1.0)]))
    with pytest.raises(ConfigError, match=r"no task is left to train on.*0 tasks, 1 left out as broken"):
        training_tasks(TasksConfig(sources=(source,), held_out=("scale",)))


def test_a_name_that_two_sources_give_is_refused_unless_it_is_the_same_task(tmp_path: Path) -> None:
    one, other = (
        str(checkout(tmp_path / name, {"wave": function(forward)}))
        for name, forward in (("one", "torch.sin(x)"), ("other", "torch.cos(x)"))
    )
    with pytest.raises(ConfigError, match=r"kernelbench_level1_1_wave \(of .*one\)"):
        read_sources((one, other))
    again = str(checkout(tmp_path / "again", {"wave": function("torch.sin(x)")}))
    assert [report.repeated for report in read_sources((one, again)).reports] == [0, 1]
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "softmax.py").write_text(function("torch.softmax(x, dim=1)"))
    with pytest.raises(ConfigError, match=r"softmax \(of the catalogue\)"):
        read_sources((str(plain),))


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ("nowhere/to/be/found", UserError, "no such file or folder"),
        ("nowhere.parquet", UserError, "no such file or folder"),
        ("catalog", UserError, "did you mean catalogue"),
        ("own_tasks:task", ConfigError, "close to it: tasks"),
        ("own_tasks:SHAPES", ConfigError, "neither a Task nor a ModuleTask"),
        ("own_tasks:mirrored", ConfigError, "failed: TypeError"),
    ],
)
def test_a_source_that_leads_nowhere_says_what_could_be_meant(
    named: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        training_tasks(TasksConfig(sources=(named,), held_out=("scale",)))


def test_an_unreachable_data_set_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("CODING_FRAMEWORK_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(NotAvailableError, match="give their folder instead of the name"):
        read_sources(("somebody/KernelBench-of-theirs",))


def test_an_unknown_name_is_told_with_those_that_come_close(tmp_path: Path) -> None:
    config = TasksConfig(sources=("catalogue", OWN), train=("miror_rows",), held_out=("scale",))
    with pytest.raises(UnknownTaskError, match="mirror_rows"):
        training_tasks(config)


def test_an_entry_point_gives_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "mirrors-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mirrors\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[coding_framework.tasks]\nmirrors = {OWN}\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert set(task_book(TasksConfig(sources=("mirrors",))).by_name) == {"mirror_rows", "mirror_columns"}


def test_a_file_of_tasks_that_was_written_is_what_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [archive_row(1)])
    config = FrameworkConfig(tasks=TasksConfig(sources=(str(path),), held_out=("scale",)))
    kept = with_kept_tasks(config, tmp_path).tasks.kept
    assert kept is not None
    (line,) = json.loads(kept.read_text())["tasks"]
    assert line["module"]["contract"] == "extension"
    written = kept.read_text()
    with_kept_tasks(config, tmp_path)
    assert kept.read_text() == written
