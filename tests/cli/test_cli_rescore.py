"""`cuda-rl rescore` as a user meets it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coding_framework.config import FrameworkConfig, RewardConfig
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.records import Conversation, ConversationTurn, Generation, Message, Verdict
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from tests_support import EvaluationFactory

MAKE = EvaluationFactory()


def rescore(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coding_framework.cli.main", "rescore", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create(tmp_path, "run", FrameworkConfig().model_dump_json())
    for number, evaluation in enumerate((MAKE.passed(1.5), MAKE.failed(Verdict.WRONG_RESULT))):
        turn = ConversationTurn(
            index=0,
            agent="generator",
            messages=(Message(role="user", content="write it"),),
            generation=Generation(text="// kernel"),
            evaluation=evaluation,
            reward=CUDAPerformanceReward()(evaluation),
        )
        folder.append_conversation(
            Conversation(
                conversation_id=str(number),
                task="scale",
                turns=(turn,),
                stop_reason="max_turns",
                discount=0.9,
                max_turns=1,
                phase="train",
            )
        )
    return folder


def test_a_person_sees_a_table_and_where_it_was_written(run: RunFolder) -> None:
    answer = rescore(str(run.path), "--set", "reward.preset=gated")
    assert answer.returncode == 0, answer.stderr
    for words in ("generator", "scale", "wrong_result", "rank correlation", "conversations: 2"):
        assert words in answer.stdout
    assert len(list((run.path / "rescored").glob("*.jsonl"))) == 1


def test_a_program_gets_one_record(run: RunFolder) -> None:
    answer = rescore(str(run.path), "--set", "reward.preset=gated", "--json")
    report = json.loads(answer.stdout)
    assert report["reward"]["preset"] == "gated"
    assert report["overall"]["turns"] == 2
    by_verdict = {row["group"]: row["new_mean"] for row in report["by_verdict"]}
    assert by_verdict["wrong_result"] == 0.0
    assert by_verdict["passed"] > 0.5


def test_a_reward_of_ones_own_scores_a_run_that_had_another(run: RunFolder) -> None:
    shutil.copy(Path(__file__).parents[2] / "examples" / "plugins" / "short_kernels.py", run.path.parent)
    (run.path / "config.json").write_text(
        FrameworkConfig(reward=RewardConfig(preset="gated", target_speedup=3)).model_dump_json()
    )
    function = ("--set", "reward.function=short_kernels:ShortKernels")
    short, long = (
        json.loads(rescore(str(run.path), *function, *more, "--json").stdout)
        for more in ((), ("--set", "reward.options.prefer=long"))
    )
    assert short["reward"]["function"] == "short_kernels:ShortKernels"
    assert short["reward"]["preset"] == "weighted", (
        "settings begin at the defaults, not at the other reward's"
    )
    means = {row["group"]: row["new_mean"] for row in short["by_verdict"]}
    assert means["passed"] == pytest.approx(0.3 + 0.7 * 800 / 809)
    assert {row["group"]: row["new_mean"] for row in long["by_verdict"]}["passed"] < 0.31
    stored = Path(short["written"]).read_text().splitlines()
    assert {json.loads(line)["turns"][0]["reward"]["preset"] for line in stored} == {"short_kernels"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere",), "nowhere is not a run folder"),
        (("run", "--set", "rl.steps=3"), "rescore changes the reward alone"),
        (("run", "--set", "reward.presett=gated"), "did you mean 'preset'?"),
        (("empty",), "holds no conversations yet"),
    ],
)
def test_what_cannot_be_rescored_is_refused_in_one_message(
    run: RunFolder, arguments: tuple[str, ...], complaint: str
) -> None:
    RunFolder.create(run.path.parent, "empty", FrameworkConfig().model_dump_json())
    answer = rescore(*arguments)
    assert answer.returncode == 2, answer.stderr
    assert complaint in answer.stderr.replace("\n", " ")
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""
