"""The report: complete, honest about what is missing, small, quick, and deaf to what a model writes."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from coding_framework.config.tree import FrameworkConfig
from coding_framework.monitoring import MetricPoint, RunFolder
from coding_framework.monitoring.report import write_report
from coding_framework.monitoring.run_history import read_history
from coding_framework.monitoring.sinks.settled import Settled
from coding_framework.records import (
    Candidate,
    CompilationResult,
    Conversation,
    ConversationTurn,
    Evaluation,
    Generation,
    KernelTiming,
    Message,
    ProfileReport,
    Record,
    RewardComponents,
    TaskSplit,
    Verdict,
)
from evaluation_support import Outcomes, failed, passed, task, write

SOURCE = """// launch: scale grid=(ceil_div(n, 256)) block=(256)
extern "C" __global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // one element a thread
    if (i < n) y[i] = 2.5f * x[i];
}
"""
ATTACK = (
    "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)> $title ${config} \x1b[31m\u202e"
)


class Done(Record):
    """What a training phase leaves, for these tests."""

    loss: float


def evaluation(task: str, verdict: Verdict, speedup: float, source: str, message: str) -> Evaluation:
    passed = verdict is Verdict.PASSED
    compiled = verdict.gate not in {"contract", "safety", "compile"}
    compilation = CompilationResult(
        success=compiled,
        compiler="nvrtc",
        toolkit="13.0",
        architecture="sm_90",
        kernel_names=("scale",) if compiled else (),
        binary_path=Path("scale.cubin") if compiled else None,
        ptx="// ptx\n" * 300 if compiled else None,
        duration_s=0.1,
    )
    timing = KernelTiming(
        kind="modelled",
        device="H100",
        dimensions={"n": 1000},
        median_us=10.0,
        reference_median_us=10.0 * speedup,
        floor_us=1.0,
    )
    profile = ProfileReport(
        source="emulator",
        occupancy=1,
        warp_execution_efficiency=1,
        sectors_per_request=4,
        coalescing_efficiency=1,
        bank_conflicts_per_access=0,
        dram_bytes=8000,
        dram_throughput_share=0.5,
        instructions=100,
        limiter="memory",
        bottleneck="memory",
    )
    return Evaluation(
        task=task,
        candidate=None if verdict is Verdict.NO_CANDIDATE else Candidate(source=source),
        verdict=verdict,
        message=message,
        compilation=None if verdict.gate == "contract" else compilation,
        timing=timing if passed else None,
        profile=profile if passed else None,
    )


def conversation(
    identifier: str,
    task: str = "scale",
    verdict: Verdict = Verdict.PASSED,
    *,
    step: int | None = None,
    speedup: float = 1.2,
    source: str = SOURCE,
    words: str = "Write a kernel that multiplies every element by 2.5.",
    turns: int = 1,
) -> Conversation:
    parts = {"compilation": 0.3, "correctness": 0.3} if verdict is Verdict.PASSED else {"compilation": 0.1}
    reward = RewardComponents(preset="weighted", parts=parts, total=sum(parts.values()), explanation=words)
    made = [
        ConversationTurn(
            index=index,
            agent="optimizer" if index else "generator",
            messages=(Message(role="system", content="You write CUDA."), Message(role="user", content=words)),
            generation=Generation(text=words, token_ids=tuple(range(200)), log_probs=(-0.5,) * 200),
            evaluation=evaluation(task, verdict, speedup, source, f"verdict of {words}"),
            reward=reward,
        )
        for index in range(turns)
    ]
    return Conversation(
        conversation_id=identifier,
        task=task,
        turns=tuple(made),
        stop_reason="max_turns",
        discount=0.9,
        max_turns=turns,
        step=step,
        phase="evaluation" if step is None else "train",
    )


def fill_sft(run: RunFolder, steps: int = 60) -> None:
    for step in range(1, steps + 1):
        values = {"loss": 1.45 * 0.93**step + 0.05, "learning_rate": 1e-3, "tokens_per_s": 900.0}
        run.append_metric(MetricPoint(phase="sft", step=step, values=values, elapsed_s=2.5 * step))


def fill_rl(run: RunFolder, steps: int = 12, *, metrics: bool = True) -> None:
    source = random.Random(5)
    verdicts = [v for v in Verdict if v not in (Verdict.TOO_FAST, Verdict.UNSAFE)]
    for step in range(1, steps + 1):
        gain = step / steps
        for index in range(8):
            verdict = Verdict.PASSED if source.random() < 0.2 + 0.5 * gain else source.choice(verdicts)
            task = source.choice(("scale", "gelu", "row_sum", "matmul"))
            run.append_conversation(
                conversation(f"rl-{step}-{index}", task, verdict, step=step, speedup=1 + gain, turns=2)
            )
        if metrics:
            values = {
                "reward_mean": 0.3 + 0.4 * gain + source.uniform(-0.05, 0.05),
                "reward_std": 0.2,
                "compile_rate": min(1.0, 0.6 + 0.35 * gain),
                "pass_rate": 0.2 + 0.5 * gain,
                "speedup_median": 1 + 0.8 * gain,
                "step_seconds": 32.0,
                "curriculum_tier": float(step > steps // 2),
                "a_name_nobody_knows": 1.0,
            }
            run.append_metric(MetricPoint(phase="rl", step=step, values=values, elapsed_s=32.0 * step))


def fill_evaluation(run: RunFolder, label: str, gain: float) -> None:
    """Eight samples of seven tasks."""
    outcomes: Outcomes = {}
    for index, name in enumerate(
        ("vector_add", "scale", "gelu", "row_sum", "transpose", "matmul", "softmax")
    ):
        split: TaskSplit = "held_out" if name in {"scale", "gelu", "row_sum"} else "trained"
        good = max(0, min(8, round(8 * gain) - index))
        turns = [[passed(1.25)] if number < good else [failed()] for number in range(8)]
        outcomes[task(name, index // 2, split)] = turns
    write(run.evaluations / label, outcomes, label)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(tmp_path)
    return RunFolder.create(tmp_path / "runs", "demo", FrameworkConfig().model_dump_json(indent=2))


def page(run: RunFolder) -> str:
    return write_report(run).read_text(encoding="utf-8")


def fill_everything(run: RunFolder) -> None:
    fill_sft(run)
    run.mark_done("sft", Done(loss=0.06), seconds=151.0)
    fill_rl(run)
    run.mark_done("rl", Done(loss=0.0), seconds=455.0)
    for label, gain in (("base", 0.25), ("sft", 0.7), ("rl", 1.0)):
        fill_evaluation(run, label, gain)
    run.mark_done("evaluation", Done(loss=0.0), seconds=214.0)


def test_a_whole_run_shows_every_part(run: RunFolder) -> None:
    fill_everything(run)
    text = page(run)
    for words in (
        "SFT loss",
        "RL reward",
        "compile rate and pass rate",
        "RL speedup, modelled",
        "tier that was practised",
        "Where answers",
    ):
        assert words in text
    for words in ("smollm2-135m-instruct", "Base model", "After SFT", "After RL", "held out", "2 min 31 s"):
        assert words in text
    assert "1.25× modelled" in text
    assert "6/8" in text
    for words in ("pass@8", "fast_1.5", "hidden failures", "refused hacks", "bootstrap over tasks", "tier 1"):
        assert words in text
    assert "a_name_nobody_knows" in text
    assert text.count('class="plot"') == 7
    assert '<span class="t-keyword">__global__</span>' in text


@pytest.mark.parametrize(
    ("executor", "before", "after"),
    [
        ("emulator", "modelled times", "modelled times"),
        ("gpu", "measured times", "modelled times"),
        ("auto", "no times", "modelled times"),
    ],
)
def test_the_kind_of_the_times_is_the_recorded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str, before: str, after: str
) -> None:
    """`auto` on a machine without a GPU models, whatever the configuration may suggest."""
    monkeypatch.chdir(tmp_path)
    config = FrameworkConfig.model_validate({"judge": {"executor": executor}})
    run = RunFolder.create(tmp_path / "runs", "demo", config.model_dump_json())
    assert f"{executor}, auto, {before}" in page(run)
    fill_everything(run)
    assert f"{executor}, auto, {after}" in page(run)


def test_the_report_is_one_file_that_loads_nothing(run: RunFolder) -> None:
    fill_everything(run)
    text = page(run)
    assert not re.search(r"https?://|<script|<link|<img|<iframe|@import|url\(| src=", text)
    assert "default-src 'none'" in text


class Structure(HTMLParser):
    """Collects tags and attributes, and checks that every element is closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.broken: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.broken.append(tag)


def test_nothing_a_model_writes_becomes_markup(run: RunFolder) -> None:
    harmless, hostile = Structure(), Structure()
    fill_everything(run)
    harmless.feed(page(run))
    run.append_conversation(
        conversation(ATTACK, f"scale{ATTACK}", source=SOURCE + ATTACK + '"' + ATTACK, words=ATTACK)
    )
    run.append_conversation(conversation("x", f"b{ATTACK}", Verdict.NO_CANDIDATE, words=ATTACK))
    run.append_metric(MetricPoint(phase="rl", step=1, values={ATTACK: 1.0}, elapsed_s=1))
    text = page(run)
    hostile.feed(text)
    assert hostile.broken == []
    assert hostile.open == []
    assert "script" not in hostile.tags
    assert "img" not in hostile.tags
    assert hostile.attributes == harmless.attributes
    assert "onerror" not in hostile.attributes
    assert "&lt;script&gt;" in text
    assert "${config}" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


WATCHED = {
    "reward_turn1": 0.2,
    "reward_turn2": 0.4,
    "reward_generator": 0.2,
    "reward_optimizer": 0.4,
    "pass_rate_tier0": 0.5,
    "pass_rate_tier2": 0.1,
    "compile_rate_tier0": 0.9,
    "policy_kl": 0.001,
    "entropy_sampled": 0.7,
    "clip_fraction": 0.01,
    "answer_tokens_mean": 200.0,
    "episodes_lost": 0.0,
    "refused": 3.0,
    "refused_too_fast": 3.0,
    "refused_unsafe": 0.0,
    "step_s": 50.0,
    "sampling_s": 20.0,
    "judging_alone_s": 10.0,
    "update_s": 15.0,
    "other_s": 5.0,
    "judgements_per_s": 4.0,
    "host_cores_busy": 1.5,
    "gpu0_busy": 0.8,
    "gpu11_busy": 0.4,
}


def test_the_curves_that_were_recorded_are_drawn_and_no_others(run: RunFolder) -> None:
    fill_rl(run, 3)
    before = page(run)
    for step in (1, 2, 3):
        run.append_metric(MetricPoint(phase="rl", step=step, values=WATCHED, elapsed_s=step))
    after = page(run)
    titles = (
        *("Reward by turn", "Reward by agent", "Pass rate by tier", "Compile rate by tier", "Clipped"),
        *("Distance of the policy", "Entropy", "Length of answers", "Lost", "Refused as hacks"),
        *("Where the time of a step goes", "Judge, RL", "Cores at work, RL", "GPUs at work, RL"),
    )
    for title in titles:
        assert f"<h3>{title}</h3>" not in before
        assert f"<h3>{title}</h3>" in after
    assert after.count('class="plot"') - before.count('class="plot"') == len(titles)
    assert "Memory of the GPUs" not in after, "this machine did not tell"
    for words in ("turn 2", "optimizer", "tier 2", "too fast", "GPU 0", "GPU 11", "judging alone 10 of 50"):
        assert words in after
    assert "step 1: unsafe" not in after, "no such verdict was given"


def test_a_sink_that_was_switched_off_is_named(run: RunFolder) -> None:
    Settled(failed={"wandb": "CommError: <no route>"}).write(run.path)
    assert "The sink `wandb` was switched off (CommError: &lt;no route&gt;)" in page(run)


def test_an_empty_run_says_so(run: RunFolder) -> None:
    text = page(run)
    assert "Nothing was recorded" in text
    assert "No model has been evaluated" in text
    assert text.count("not started") == 3


def test_an_interrupted_run_says_where_it_stopped(run: RunFolder) -> None:
    fill_sft(run, 25)
    text = page(run)
    assert "unfinished: last recorded step is 25" in text, "how many there are follows from the pairs"
    assert "1 min 02 s so far" in text
    assert text.count('class="plot"') == 2, "the loss, and folded the tokens a second"


def test_a_skipped_phase_is_called_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = FrameworkConfig.model_validate({"rl": {"enabled": False}})
    run = RunFolder.create(tmp_path, "demo", config.model_dump_json())
    fill_sft(run)
    run.mark_done("sft", Done(loss=0.1))
    assert "skipped by configuration" in page(run)


def test_models_that_were_evaluated_before_an_interruption_are_shown(run: RunFolder) -> None:
    fill_evaluation(run, "base", 0.5)
    fill_evaluation(run, "rl", 0.5)
    samples = run.evaluations / "rl" / "samples.jsonl"
    samples.write_text("".join(samples.read_text().splitlines(keepends=True)[:9]))
    text = page(run)
    assert "Base model" in text
    assert "After RL" not in text
    assert "The evaluation of rl is not shown" in text


def test_a_run_that_an_earlier_version_evaluated_says_how_to_evaluate_it_again(run: RunFolder) -> None:
    run.mark_done("evaluation", Done(loss=0.0))
    text = page(run)
    assert "stored no samples" in text
    assert f"cuda-rl train --resume {run.path}" in text


def test_curves_come_from_conversations_where_the_trainer_recorded_none(run: RunFolder) -> None:
    fill_rl(run, steps=3, metrics=False)
    history = read_history(run)
    curve = history.curve("rl", "pass_rate")
    assert curve is not None
    assert curve.source == "best turn of each conversation"
    assert [step for step, _ in curve.points] == [1, 2, 3]
    passed = history.steps[2].passed
    assert curve.points[1][1] == sum(passed) / len(passed)
    assert "Source: best turn of each conversation." in page(run)


def test_a_step_done_again_after_a_resume_counts_once(run: RunFolder) -> None:
    for loss in (2.0, 1.0):
        run.append_metric(MetricPoint(phase="sft", step=5, values={"loss": loss}, elapsed_s=1))
    curve = read_history(run).curve("sft", "loss")
    assert curve is not None
    assert curve.points == ((5, 1.0),)
    assert 'class="plot"' in page(run)


def test_numbers_that_are_not_finite_do_not_break_a_plot(run: RunFolder) -> None:
    for step, loss in enumerate((1.0, float("nan"), float("inf"), 0.5)):
        run.append_metric(MetricPoint(phase="sft", step=step, values={"loss": loss}, elapsed_s=1))
    text = page(run)
    assert not re.search(r'(cx|cy|d)="[^"]*(nan|inf)', text)
    assert text.count("<circle") == 2


@pytest.mark.parametrize("level", [0.0, 1.0, -3.5, 1e-9, 1e9])
def test_a_flat_curve_has_an_axis_around_it(run: RunFolder, level: float) -> None:
    for step in range(3):
        run.append_metric(MetricPoint(phase="sft", step=step, values={"loss": level}, elapsed_s=1))
    text = page(run)
    heights = {float(value) for value in re.findall(r'cy="([0-9.]+)"', text)}
    assert len(heights) == 1
    assert 0 < heights.pop() < 280


def test_torn_lines_are_mentioned(run: RunFolder) -> None:
    fill_sft(run)
    with (run.path / "metrics.jsonl").open("a") as stream:
        stream.write('{"phase": "s')
    assert "1 unreadable line(s)" in page(run)


def test_a_configuration_of_another_version_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = RunFolder.create(tmp_path, "demo", '{"learning": "differently", "judge": {"secret": "hush"}}')
    text = page(run)
    assert "another version" in text
    assert "differently" in text
    assert "hush" not in text


def test_a_large_run_gives_a_small_report(run: RunFolder) -> None:
    for step in range(2000):
        run.append_metric(
            MetricPoint(phase="sft", step=step, values={"loss": 1 / (step + 1)}, elapsed_s=step)
        )
    for number in range(400):
        run.append_conversation(
            conversation(f"c{number}", f"task{number % 120}", step=number, source=SOURCE * 60, turns=3)
        )
    path = write_report(run)
    assert path.stat().st_size < 2_000_000
    assert "are not shown here for their size" in path.read_text(encoding="utf-8")
