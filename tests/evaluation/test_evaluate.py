"""A model into a folder: every sample is kept, and an evaluation that was stopped goes on behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_framework.config import FrameworkConfig, load_config
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import get_task
from coding_framework.errors import NotAvailableError, TrainingInterrupted, UserError
from coding_framework.evaluation import evaluate
from coding_framework.evaluation.evaluate import evaluate_into, head_of, weights_digest
from coding_framework.evaluation.subjects import catalogue_suite, folder_suite
from coding_framework.monitoring.evaluation_folder import EvaluationFolder, EvaluationHead
from coding_framework.monitoring.figures import figures_in
from coding_framework.monitoring.storage import append_line
from coding_framework.records import Conversation, Generation, GenerationRequest, ModuleTask
from coding_framework.training.plan.machine import Machine
from coding_framework.training.plan.refusals import evaluation_refusals
from coding_framework.training.plan.resolve import resolve

MACHINE = Machine(cores=2, memory_bytes=2**33, no_cards_because="none was built in")
SAXPY = Path(__file__).parents[2] / "examples" / "problems" / "saxpy_clamp.cu"
RELU = """
import torch
from torch import nn

batch_size = 16
dim = 384

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(batch_size, dim)]

def get_init_inputs():
    return []
"""
SETTINGS = (
    "evaluation.samples_per_task=3",
    "evaluation.batch_size=2",
    "judge.workers=1",
    'tasks.held_out=["scale"]',
    'tasks.train=["vector_add"]',
)


def settled(*overrides: str) -> FrameworkConfig:
    return resolve(load_config("quick", [*SETTINGS, *overrides]), MACHINE)


class Answering:
    """Gives the naive kernel for one seed of two, and prose else: the same answer to the same question."""

    asked: list[int]

    def __init__(self) -> None:
        self.asked = []

    async def generate(self, request: GenerationRequest) -> Generation:
        assert request.seed is not None
        self.asked.append(request.seed)
        name = "scale" if "Scale" in request.messages[-1].content else "vector_add"
        source = get_task(name).baseline
        return Generation(text=f"```cuda\n{source}\n```" if request.seed % 2 else "I do not know.")

    def close(self) -> None:
        self.asked.append(-1)


@pytest.fixture(scope="module")
def pool() -> Iterator[JudgePool]:
    with JudgePool(settled().judge) as pool:
        yield pool


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Answering:
    model = Answering()
    monkeypatch.setattr(evaluate, "_open", lambda config, path: model)
    return model


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "weights").write_bytes(b"123")
    return folder


def evaluated(folder: Path, head: EvaluationHead, pool: JudgePool, stop_after: int | None = None) -> None:
    config = settled()
    file = folder / "conversations.jsonl"
    stored = 0

    def keep(conversation: Conversation) -> None:
        append_line(file, conversation.model_dump_json())

    def count() -> None:
        nonlocal stored
        stored += 1
        if stored == stop_after:
            raise TrainingInterrupted("stopped as asked")

    work = evaluate_into(
        EvaluationFolder(folder),
        head,
        catalogue_suite(config),
        config,
        pool,
        conversations=file,
        on_conversation=keep,
        on_stored=count,
    )
    asyncio.run(work)


def test_an_evaluation_that_was_stopped_goes_on_and_ends_like_one_that_was_not(
    tmp_path: Path, weights: Path, model: Answering, pool: JudgePool
) -> None:
    head = head_of(settled(), "model", weights, catalogue_suite(settled()))
    evaluated(tmp_path / "whole", head, pool)
    assert model.asked.pop() == -1, "the engine is closed"
    assert len(set(model.asked)) == 6
    stopped = tmp_path / "stopped"
    with pytest.raises(TrainingInterrupted):
        evaluated(stopped, head, pool, stop_after=3)
    assert len(EvaluationFolder(stopped).samples()) == 3
    append_line(stopped / "conversations.jsonl", _last_line(tmp_path / "whole" / "conversations.jsonl"))
    evaluated(stopped, head, pool)
    whole, again = EvaluationFolder(tmp_path / "whole"), EvaluationFolder(stopped)
    assert sorted(again.samples(), key=lambda one: one.key) == sorted(
        whole.samples(), key=lambda one: one.key
    )
    assert figures_in(again) == figures_in(whole)
    for folder in (whole, again):
        names = [Conversation.model_validate_json(line).conversation_id for line in _lines(folder.path)]
        assert sorted(names) == sorted(one.conversation_id for one in folder.samples())
    model.asked.clear()
    evaluated(stopped, head, pool)
    assert model.asked == [], "a finished evaluation loads no model"


def _lines(folder: Path) -> list[str]:
    return (folder / "conversations.jsonl").read_text().splitlines()


def _last_line(file: Path) -> str:
    """A conversation whose sample was not stored: the kill came between the two."""
    return file.read_text().splitlines()[-1]


def test_other_weights_are_another_evaluation(weights: Path) -> None:
    before = weights_digest(weights)
    assert weights_digest(weights) == before
    (weights / "weights").write_bytes(b"124")
    assert weights_digest(weights) != before


def test_the_engine_is_vllm_only_where_there_is_a_card_and_the_package() -> None:
    card = {"name": "NVIDIA H200", "memory_bytes": 2**37}
    packages = frozenset({"vllm", "torch"})
    with_card = Machine.model_validate({**MACHINE.model_dump(), "cards": [card], "packages": packages})
    config = load_config("quick")
    assert resolve(config, with_card).evaluation.engine == "vllm"
    assert resolve(config, MACHINE).evaluation.engine == "transformers"
    asked = load_config("quick", ["evaluation.engine=vllm"])
    words = [one.words for one in evaluation_refusals(resolve(asked, MACHINE), MACHINE)]
    assert len(words) == 1
    assert "needs a GPU (none was built in)" in words[0]


def test_modules_are_refused_at_once_where_no_gpu_judges(tmp_path: Path, pool: JudgePool) -> None:
    judge = settled().judge
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("class Model: ...\n")
    with pytest.raises(NotAvailableError, match=r"2 of 2 problems .* host code, which is judged on a GPU"):
        folder_suite(tmp_path, judge, pool, skip_broken=True)
    (tmp_path / "saxpy.cu").write_text(SAXPY.read_text())
    with pytest.raises(NotAvailableError, match=r"2 of 3 problems .*--skip-broken"):
        folder_suite(tmp_path, judge, pool, skip_broken=False)
    suite = folder_suite(tmp_path, judge, pool, skip_broken=True)
    assert [one.about.name for one in suite.subjects] == ["saxpy_clamp"]
    assert suite.subjects[0].about.split == "suite"
    assert [Path(one.file).name for one in suite.left_out] == ["a.py", "b.py"]


def test_a_naive_kernel_that_fails_the_judge_is_a_broken_problem(tmp_path: Path, pool: JudgePool) -> None:
    (tmp_path / "saxpy.cu").write_text(SAXPY.read_text())
    racy = SAXPY.read_text().replace("saxpy_clamp", "racy").replace("z[i] = f", "z[0] = z[i] = f")
    (tmp_path / "racy.cu").write_text(racy)
    with pytest.raises(UserError, match=r"1 of 2 problems .*\n- .*racy.cu: .*data race"):
        folder_suite(tmp_path, settled().judge, pool, skip_broken=False)
    suite = folder_suite(tmp_path, settled().judge, pool, skip_broken=True)
    assert [one.about.name for one in suite.subjects] == ["saxpy_clamp"]


def test_modules_that_a_gpu_judges_are_asked_with_hidden_shapes_that_run(
    tmp_path: Path, pool: JudgePool
) -> None:
    """Reading them needs no GPU: the reference runs on the CPU, and nothing is judged yet."""
    pytest.importorskip("torch")
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "19_relu.py").write_text(RELU)
    judge = settled().judge.model_copy(update={"executor": "gpu"})
    (subject,) = folder_suite(tmp_path, judge, pool, skip_broken=False).subjects
    assert isinstance(subject.task, ModuleTask)
    assert subject.about.contract == "module"
    assert (subject.about.name, subject.about.family) == ("kernelbench_level1_19_relu", "kernelbench_level1")
    assert subject.task.hidden_constants
