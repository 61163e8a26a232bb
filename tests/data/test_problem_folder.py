"""A folder of problems: what is one, what is not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from archive_support import SCALE_MODULE

from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.data.problem_folder import BrokenProblem, FolderProblem, ProblemFolder
from coding_framework.errors import UserError
from coding_framework.records import ModuleTask, Task

SAXPY = (Path(__file__).parents[2] / "examples" / "problems" / "saxpy_clamp.cu").read_text()


@pytest.fixture(scope="module")
def compiler() -> Iterator[CUDACompiler]:
    with CUDACompiler() as compiler:
        yield compiler


def test_both_kinds_are_found_with_their_names_and_hidden_files_passed_over(
    tmp_path: Path, compiler: CUDACompiler
) -> None:
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    for name in ("a/relu.py", "_draft.py", ".cache/x.py", ".cache/x.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SCALE_MODULE)
    folder = ProblemFolder(tmp_path)
    assert folder.count == 2
    module, kernel = folder.read(compiler)
    assert isinstance(module, FolderProblem)
    assert isinstance(module.task, ModuleTask)
    assert (module.task.name, module.task.family) == ("a_relu", "kernelbench")
    assert isinstance(kernel, FolderProblem)
    assert isinstance(kernel.task, Task)
    assert (kernel.task.name, kernel.task.family, kernel.task.tier) == ("saxpy_clamp", "user", 1)
    assert [one.file.name for one in folder.read(compiler, modules=False)] == ["saxpy.cu"]


def test_what_is_broken_is_named_with_the_reason(tmp_path: Path, compiler: CUDACompiler) -> None:
    (tmp_path / "prose.py").write_text("def get_inputs(): return []\n")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "plain.cu").write_text('extern "C" __global__ void f() {}\n')
    (tmp_path / "typo.cu").write_text(SAXPY.replace("fminf", "fminn"))
    found = {one.file.name: one for one in ProblemFolder(tmp_path).read(compiler)}
    assert all(isinstance(one, BrokenProblem) for one in found.values())
    words = {name: one.words for name, one in found.items() if isinstance(one, BrokenProblem)}
    assert "class Model" in words["prose.py"]
    assert "cannot be read" in words["bytes.py"]
    assert "no line `// problem" in words["plain.cu"]
    assert "does not compile" in words["typo.cu"]


def test_two_of_one_name_or_one_text_are_not_both_taken(tmp_path: Path, compiler: CUDACompiler) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "relu.py").write_text(SCALE_MODULE)
    (tmp_path / "a_relu.py").write_text(SCALE_MODULE + "# another\n")
    (tmp_path / "copy.py").write_text(SCALE_MODULE)
    found = list(ProblemFolder(tmp_path).read(compiler))
    assert [type(one) for one in found] == [FolderProblem, BrokenProblem, BrokenProblem]
    words = [one.words for one in found if isinstance(one, BrokenProblem)]
    assert "it is called a_relu like" in words[0]
    assert "the same problem as" in words[1]


def test_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("soon")
    with pytest.raises(UserError, match="holds no problem"):
        ProblemFolder(tmp_path)
    with pytest.raises(UserError, match="there is no file or folder"):
        ProblemFolder(tmp_path / "nowhere")
