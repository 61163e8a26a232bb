"""The warm start on a real, tiny model: it learns, stops, resumes exactly, and survives a full disk."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from structlog.testing import capture_logs

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import torch

from coding_framework.agents.models.batched_generator import BatchedGenerator
from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.agents.models.loading import load_causal_model, load_tokenizer
from coding_framework.config import SFTConfig
from coding_framework.errors import (
    NotAvailableError,
    StorageError,
    TrainingInterrupted,
    UserError,
)
from coding_framework.records import Message
from coding_framework.training.sft.adapter import load_trainable
from coding_framework.training.sft.checkpoint import STATE_FILE, WEIGHTS_FILE
from coding_framework.training.sft.examples import Example
from coding_framework.training.sft.loss import answer_loss, learning_rate_at
from coding_framework.training.sft.results import SFTStep
from coding_framework.training.sft.trainer import run_sft
from coding_framework.training.shared_beginning import shared_length
from tiny_model import write_tiny_model


class Pair(NamedTuple):
    messages: tuple[Message, ...]
    answer: str


QUESTIONS = {"a": "alpha", "b": "beta beta", "c": "gamma", "d": "delta!", "e": "epsilon"}
PAIRS = [Pair((Message(role="user", content=q),), a) for q, a in QUESTIONS.items()]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def settings(**changes: Any) -> SFTConfig:
    values: dict[str, Any] = {
        "steps": 6,
        "batch_size": 2,
        "learning_rate": 1e-2,
        "warmup_steps": 1,
        "checkpoint_every": 2,
        "max_length": 128,
        "lora_rank": 8,
        "lora_dropout": 0.1,
    }
    return SFTConfig(**{**values, **changes})


def after(step: int, act: Callable[[], object]) -> Callable[[SFTStep], None]:
    return lambda done: act() if done.step == step else None


def test_training_lowers_the_loss_and_the_merged_model_gives_the_taught_answer(
    model_path: Path, tmp_path: Path
) -> None:
    config = settings(steps=60, lora_dropout=0.0, lora_rank=32, checkpoint_every=100, batch_size=5)
    result = run_sft(PAIRS, config, model_path, tmp_path)
    assert result.losses[-1] < 0.2 * result.losses[0]
    tokenizer = load_tokenizer(result.model_dir)
    generator = BatchedGenerator(load_causal_model(result.model_dir), tokenizer)
    prompts = [prompt_token_ids(tokenizer, pair.messages) for pair in PAIRS]
    answers = generator.generate(prompts, max_new_tokens=20, temperature=0)
    texts = [tokenizer.decode(answer.token_ids, skip_special_tokens=True) for answer in answers]
    assert sum(text == pair.answer for text, pair in zip(texts, PAIRS, strict=True)) >= 4


def test_a_stopped_and_resumed_run_repeats_the_uninterrupted_one(model_path: Path, tmp_path: Path) -> None:
    whole = run_sft(PAIRS, settings(), model_path, tmp_path / "whole", seed=5)
    steps: list[SFTStep] = []
    saved: list[int] = []
    with pytest.raises(TrainingInterrupted, match="step 3 of 6"):
        run_sft(
            PAIRS,
            settings(),
            model_path,
            tmp_path / "parts",
            on_step=steps.append,
            on_saved=saved.append,
            should_stop=lambda: len(steps) == 3,
            seed=5,
        )
    assert saved[-1] == 3, "what a stop has saved is told before it is raised"
    resumed = run_sft(
        PAIRS, settings(), model_path, tmp_path / "parts", on_step=steps.append, resume=True, seed=5
    )
    assert [step.step for step in steps] == [1, 2, 3, 4, 5, 6]
    assert resumed.losses == whole.losses == tuple(step.loss for step in steps)
    adapters = [
        (folder / "adapter_model.safetensors").read_bytes()
        for folder in (resumed.adapter_dir, whole.adapter_dir)
        if folder is not None
    ]
    assert len(adapters) == 2
    assert adapters[0] == adapters[1]


def test_a_finished_run_goes_on_when_more_steps_are_asked_for(model_path: Path, tmp_path: Path) -> None:
    first = run_sft(PAIRS, settings(), model_path, tmp_path, seed=5)
    begun: list[int] = []
    steps: list[SFTStep] = []

    def extend(stop_after: int) -> tuple[float, ...]:
        return run_sft(
            PAIRS,
            settings(steps=12),
            model_path,
            tmp_path,
            on_start=begun.append,
            on_step=steps.append,
            should_stop=lambda: bool(steps) and steps[-1].step == stop_after,
            resume=True,
            seed=5,
        ).losses

    with pytest.raises(TrainingInterrupted, match="step 9 of 12"):
        extend(stop_after=9)
    losses = extend(stop_after=99)
    assert begun == [6, 9]
    assert losses[:6] == first.losses
    assert [step.step for step in steps] == list(range(7, 13))
    rates = [step.learning_rate for step in steps]
    longer = [learning_rate_at(s, steps=12, peak=1e-2, warmup_steps=1, warm_from=6) for s in range(6, 12)]
    assert rates == longer
    assert rates[0] < rates[1] > rates[2], "it warms up once more, and follows the longer cosine"


def test_two_small_batches_accumulated_equal_one_large_batch(model_path: Path, tmp_path: Path) -> None:
    base = {"steps": 1, "lora_dropout": 0.0}
    four = PAIRS[:4]
    together = run_sft(four, settings(batch_size=4, **base), model_path, tmp_path / "a")
    apart = run_sft(
        four, settings(batch_size=2, gradient_accumulation_steps=2, **base), model_path, tmp_path / "b"
    )
    assert apart.losses == pytest.approx(together.losses, rel=1e-2)


SHARED = (1, 20, 21, 22)
EXAMPLES = [
    Example((*SHARED, 23), (30, 31, 2)),
    Example((*SHARED, 24, 25, 26), (40, 41, 42, 2)),
    Example((*SHARED, 23), (50, 2)),
]


def loss_of_the_plain_model(model_path: Path, example: Example) -> float:
    """Token by token from the untouched model; a fresh adapter changes nothing yet."""
    ids = [*example.prompt_ids, *example.answer_ids]
    with torch.no_grad():
        table = load_causal_model(model_path)(torch.tensor([ids])).logits[0].log_softmax(-1)
    first = len(example.prompt_ids)
    return -sum(float(table[position - 1, ids[position]]) for position in range(first, len(ids)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("examples", [EXAMPLES[:1], EXAMPLES[1:], [EXAMPLES[0], EXAMPLES[2]], EXAMPLES])
def test_only_answer_tokens_count_whatever_the_batch(
    model_path: Path, dtype: str, examples: list[Example]
) -> None:
    model = load_trainable(model_path, settings()).to(getattr(torch, dtype)).eval()
    expected = sum(loss_of_the_plain_model(model_path, example) for example in examples)
    with torch.no_grad():
        loss = answer_loss(model, examples, 0)
    assert loss.item() == pytest.approx(expected, rel=1e-4 if dtype == "float32" else 2e-2)


def test_sharing_a_prefix_leaves_the_gradients_as_they_are(model_path: Path) -> None:
    model = load_trainable(model_path, settings(lora_dropout=0.0)).float().train()
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zero at the start, which would hide the gradients of the other half
            torch.nn.init.normal_(parameter, std=0.1)
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    together = torch.autograd.grad(answer_loss(model, EXAMPLES, 0), learned)
    apart = torch.autograd.grad(sum(answer_loss(model, [example], 0) for example in EXAMPLES), learned)
    for left, right in zip(together, apart, strict=True):
        assert torch.allclose(left, right, rtol=1e-3, atol=1e-5)


def test_what_is_shared_ends_where_prompts_differ_and_before_the_shortest_ends() -> None:
    prompts = [example.prompt_ids for example in EXAMPLES]
    assert shared_length(prompts) == 4
    assert shared_length([prompts[0], prompts[2]]) == 4
    assert shared_length(prompts[:1]) == 0


def test_ctrl_c_ends_the_step_writes_a_checkpoint_and_gives_the_signal_back(
    model_path: Path, tmp_path: Path
) -> None:
    press = after(1, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(TrainingInterrupted):
        run_sft(PAIRS, settings(), model_path, tmp_path, on_step=press)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step_000001"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_training_runs_in_a_thread_that_cannot_have_signal_handlers(model_path: Path, tmp_path: Path) -> None:
    results: list[object] = []
    thread = threading.Thread(
        target=lambda: results.append(run_sft(PAIRS, settings(steps=1), model_path, tmp_path))
    )
    thread.start()
    thread.join()
    assert len(results) == 1


@contextmanager
def files_limited_to(size_bytes: int) -> Iterator[None]:
    """The kernel refuses larger files, as it refuses any on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_last_checkpoint_intact_and_resumable(
    model_path: Path, tmp_path: Path
) -> None:
    with pytest.raises(TrainingInterrupted):
        run_sft(PAIRS, settings(checkpoint_every=1), model_path, tmp_path, should_stop=lambda: True)
    with pytest.raises(StorageError, match="--resume"), files_limited_to(4096):
        run_sft(PAIRS, settings(checkpoint_every=1), model_path, tmp_path, resume=True)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step_000001"]
    result = run_sft(PAIRS, settings(checkpoint_every=1), model_path, tmp_path, resume=True)
    assert len(result.losses) == 6


@pytest.mark.parametrize("file", [WEIGHTS_FILE, STATE_FILE])
@pytest.mark.parametrize("left", [0, 200, None])
def test_a_torn_checkpoint_is_passed_over_for_the_one_before(
    model_path: Path, tmp_path: Path, file: str, left: int | None
) -> None:
    seen: list[SFTStep] = []
    with pytest.raises(TrainingInterrupted):
        run_sft(
            PAIRS,
            settings(),
            model_path,
            tmp_path,
            on_step=seen.append,
            should_stop=lambda: len(seen) == 4,
        )
    torn = tmp_path / "checkpoints" / "step_000004" / file
    if left is None:
        torn.unlink()
    else:
        os.truncate(torn, left)
    starts: list[int] = []
    with capture_logs() as events:
        result = run_sft(PAIRS, settings(), model_path, tmp_path, on_start=starts.append, resume=True)
    assert starts == [2]
    assert result.losses[:4] == tuple(step.loss for step in seen)
    assert [event["path"] for event in events if event["log_level"] == "warning"] == [str(torn.parent)]


def test_a_checkpoint_is_synced_before_it_takes_its_name(
    model_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def listening(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr("coding_framework.monitoring.storage.os.fsync", listening)
    with pytest.raises(TrainingInterrupted):
        run_sft(PAIRS, settings(), model_path, tmp_path, should_stop=lambda: True)
    folder = (tmp_path / "checkpoints").resolve()
    beside = folder / ".step_000001.partial"
    assert set(synced[:2]) == {str(beside / name) for name in (WEIGHTS_FILE, STATE_FILE)}
    assert synced[2:] == [str(beside), str(folder)]


def test_resuming_with_other_pairs_is_refused(model_path: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingInterrupted):
        run_sft(PAIRS, settings(), model_path, tmp_path, should_stop=lambda: True)
    with pytest.raises(UserError, match="other pairs or settings"):
        run_sft(PAIRS[:3], settings(), model_path, tmp_path, resume=True)


def test_old_checkpoints_are_removed_and_of_a_finished_run_the_last_one_stays(
    model_path: Path, tmp_path: Path
) -> None:
    seen = []

    def on_step(step: SFTStep) -> None:
        seen.append(sorted(path.name for path in (tmp_path / "checkpoints").glob("step_*")))

    saved: list[int] = []
    run_sft(PAIRS, settings(checkpoint_every=1), model_path, tmp_path, on_step=on_step, on_saved=saved.append)
    assert saved == [1, 2, 3, 4, 5, 6], "each checkpoint is told of once"
    assert seen[-1] == ["step_000004", "step_000005"]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step_000006"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_four_bit_weights_without_a_gpu_are_refused_in_words(model_path: Path, tmp_path: Path) -> None:
    with pytest.raises(NotAvailableError, match="CUDA GPU"):
        run_sft(PAIRS, settings(method="qlora"), model_path, tmp_path)
