"""Kernels that a source brings become pairs once the judge has passed them: first ones, and faster ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from archive_support import REAL_ROWS, archive_row, wrong_row
from source_support import OWN, OWN_FOLDER, archive

from coding_framework.agents.prompts import generator_messages, optimizer_messages
from coding_framework.config import JudgeConfig, TasksConfig
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.pool import open_pool
from coding_framework.data.pair_files import read_pairs, write_pairs
from coding_framework.data.pair_records import SFTPair
from coding_framework.data.pairs.known import KnownDraft, known_families
from coding_framework.data.pairs.making import Wanted, make_pairs
from coding_framework.data.pairs.settling import PairSettler
from coding_framework.data.sources.overlap import open_held_out
from coding_framework.records import (
    Candidate,
    Evaluation,
    KernelTiming,
    Message,
    ModuleTask,
    Task,
    Verdict,
)

SLOW_US, FASTER_US, FASTEST_US = 3_500.0, 2_500.0, 1_500.0


def optimizer_prompt(task: Task | ModuleTask, source: str, evaluation: Evaluation) -> tuple[Message, ...]:
    return optimizer_messages(task, evaluation, None)


class TimesOfTheArchive:
    """Stands in for the judge, which needs a GPU: kernel 2 fails, the others take what their number says."""

    def judge(self, task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        number = int(candidate.source.split("// kernel ")[1].split()[0])
        if number == 2:
            return Evaluation(
                task=task.name,
                candidate=candidate,
                verdict=Verdict.WRONG_RESULT,
                message="12 elements differ",
            )
        timing = KernelTiming(
            kind="measured",
            interval_us=(1.0, 2.0),
            device="a card",
            dimensions={},
            median_us=500.0 + 1000.0 * number,
            reference="PyTorch, eager",
            reference_median_us=7_000.0,
            floor_us=1.0,
        )
        return Evaluation(
            task=task.name, candidate=candidate, verdict=Verdict.PASSED, message="passed", timing=timing
        )


def wanted(config: TasksConfig) -> list[Wanted]:
    return [(family, family.most) for family in known_families(config)]


def settled(config: TasksConfig) -> tuple[tuple[SFTPair, ...], dict[str, int]]:
    with CUDACompiler() as compiler:
        held_out = open_held_out(config, compiler.compile)
        settler = PairSettler(
            TimesOfTheArchive(), compiler.compile, generator_messages, optimizer_prompt, held_out
        )
        made = make_pairs(wanted(config), 7, settler.settle, workers=1)
    return made.pairs, made.rejected


def test_right_kernels_of_an_archive_become_first_kernels_and_faster_ones(tmp_path: Path) -> None:
    config = TasksConfig(sources=(str(archive(tmp_path / "a.jsonl")),), held_out=("matmul",))
    pairs, rejected = settled(config)
    assert rejected.keys() <= {"wrong_result"}
    assert "// kernel 4" not in "".join(pair.answer for pair in pairs), "the archive calls it wrong"
    written = [pair for pair in pairs if pair.kind == "write"]
    assert sorted(round(7_000 / pair.speedup) for pair in written) == [FASTEST_US, SLOW_US]
    improved = [pair for pair in pairs if pair.kind == "optimise"]
    for pair in improved:
        assert "// kernel 1" in pair.answer
        assert "// kernel 3" in pair.messages[-1].content
    for pair in pairs:
        assert (pair.contract, pair.time_kind, pair.family) == ("extension", "measured", "sakana_level1")
        assert pair.task == "sakana_level1_7_Scaled_ReLU"
        assert "PYBIND11_MODULE" in pair.messages[0].content
    path = tmp_path / "pairs.parquet"
    write_pairs(path, pairs)
    assert read_pairs(path) == pairs


def test_a_kernel_that_a_source_brings_for_a_held_out_task_answers_for_no_other(tmp_path: Path) -> None:
    copied = archive_row(5, Op_Name="8_Another", Task_ID=8, Kernel_Name="scaled_relu_1")
    other = copied["PyTorch_Code_Module"].replace("torch.relu(x) * 2.5", "torch.sin(x)")
    rows = [archive_row(1), wrong_row(4), {**copied, "PyTorch_Code_Module": other}]
    rows[2]["CUDA_Code"] = rows[0]["CUDA_Code"]
    source = str(archive(tmp_path / "a.jsonl", rows))
    config = TasksConfig(sources=(source,), held_out=("sakana_level1_7_Scaled_ReLU",))
    pairs, rejected = settled(config)
    assert pairs == ()
    assert rejected == {"held out": 1}


def test_the_kernels_of_own_tasks_are_judged_and_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(OWN_FOLDER)
    config = TasksConfig(sources=("catalogue", OWN), held_out=("scale",))
    judge = JudgeConfig(executor="emulator", workers=1)
    with CUDACompiler() as compiler, open_pool(judge) as pool:
        held_out = open_held_out(config, compiler.compile)
        settler = PairSettler(pool, compiler.compile, generator_messages, optimizer_prompt, held_out)
        made = make_pairs(wanted(config), 7, settler.settle, workers=1)
    assert {pair.task for pair in made.pairs} == {"mirror_rows", "mirror_columns"}
    assert all(pair.verdict is Verdict.PASSED and pair.kind == "write" for pair in made.pairs)


@pytest.mark.skipif(not REAL_ROWS.exists(), reason="the rows of the real archive are not here")
def test_the_real_archive_drafts_each_right_kernel_once_and_slower_ones_beside_it() -> None:
    config = TasksConfig(sources=(str(REAL_ROWS),))
    drafts: list[KnownDraft] = []
    for family in known_families(config):
        number = 0
        while not family.is_exhausted(number):
            drafts += family.cluster(7, number)
            number += 1
    written = [draft for draft in drafts if draft.kind == "write"]
    assert len(written) == len({draft.answer.digest for draft in written}) == 78
    assert all(draft.answer.contract == "extension" for draft in drafts)
    improved = [draft for draft in drafts if draft.kind == "optimise"]
    assert len(improved) > 40
    assert all(draft.shown is not None and draft.shown != draft.answer for draft in improved)
