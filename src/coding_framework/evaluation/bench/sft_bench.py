"""`cuda-rl bench sft`: tokens a second of the warm start on this machine, beside TRL's if asked for.

Protocol: pairs as SFT takes them, from a file or drafted from the templates (what they teach does not
matter here, how long they are does); the run that `cuda-rl train` would make, ended after the last
measured step, so that nothing is written; the first steps warm up and do not count. Both trainers get
the same tokens in the same order, the same number format and the same attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from coding_framework.agents.models.loading import default_device, release_memory
from coding_framework.agents.prompts import generator_messages
from coding_framework.config import FrameworkConfig
from coding_framework.data.pair_records import answer_of
from coding_framework.data.pairs.short_drafts import FirstKernels
from coding_framework.data.sources.overlap import open_held_out
from coding_framework.data.tasks.split import catalogue_tasks
from coding_framework.evaluation.bench.sft_records import BenchSFTResult, SFTFigures
from coding_framework.records import Message
from coding_framework.training.sft.results import PairLike, SFTStep, StepSplit
from coding_framework.training.sft.trainer import run_sft

MAX_DRAFTS = 1000


@dataclass(frozen=True)
class _Drafted:
    """A pair that nobody judged."""

    messages: tuple[Message, ...]
    answer: str


class _Measured(Exception):
    """The last step was measured: the run need not go on to its export."""


def bench_sft(
    config: FrameworkConfig,
    model_path: Path,
    *,
    steps: int,
    warm_up: int,
    compare_trl: bool = False,
    pairs: Sequence[PairLike] = (),
    on_step: Callable[[], None] = lambda: None,
) -> BenchSFTResult:
    """Measure `steps` steps of a resolved config."""
    if compare_trl:
        from coding_framework.evaluation.bench.trl_bench import require_trl

        require_trl()
    total = warm_up + steps + 1
    sft = config.sft.model_copy(update={"steps": total, "epochs": None, "checkpoint_every": total})
    config = config.model_copy(update={"sft": sft})
    per_step = sft.batch_size * sft.gradient_accumulation_steps
    chosen = pairs or _drafts(config, per_step * (warm_up + steps))
    ours = _ours(chosen, config, model_path, warm_up, on_step)
    theirs = None
    if compare_trl:
        from coding_framework.evaluation.bench.trl_bench import measure_trl

        release_memory()
        theirs = measure_trl(chosen, config, model_path, steps=steps, warm_up=warm_up, on_step=on_step)
    return BenchSFTResult(
        device=_device(),
        model=model_path.name,
        method=sft.method,
        attention=config.model.attention,
        pairs_per_step=per_step,
        workers=sft.workers or 1,
        row_tokens=sft.batch_tokens,
        ours=ours,
        trl=theirs,
    )


def _drafts(config: FrameworkConfig, wanted: int) -> list[PairLike]:
    return list(islice(_all_drafts(config), min(wanted, MAX_DRAFTS)))


def _all_drafts(config: FrameworkConfig) -> Iterator[PairLike]:
    """First kernels, as short pairs begin; without end."""
    source = FirstKernels(catalogue_tasks(config.tasks), open_held_out(config.tasks))
    for number in count():
        for draft in source.cluster(config.run.seed, number):
            yield _Drafted(generator_messages(draft.task), answer_of(draft.answer.kept))


def _ours(
    pairs: Sequence[PairLike],
    config: FrameworkConfig,
    model_path: Path,
    warm_up: int,
    on_step: Callable[[], None],
) -> SFTFigures:
    seen: list[SFTStep] = []

    def note(step: SFTStep) -> None:
        seen.append(step)
        on_step()
        if len(seen) == step.steps - 1:
            raise _Measured

    with TemporaryDirectory(prefix="cf-bench-") as folder, suppress(_Measured):
        run_sft(
            pairs,
            config.sft,
            model_path,
            Path(folder),
            attention=config.model.attention,
            on_step=note,
            seed=config.run.seed,
        )
    counted = seen[warm_up:]
    return SFTFigures(
        trainer="ours",
        steps=len(counted),
        tokens=sum(step.tokens for step in counted),
        answer_tokens=sum(step.answer_tokens for step in counted),
        seconds=sum(step.seconds for step in counted),
        split=_sum([step.split for step in counted]),
        peak_memory_bytes=counted[-1].peak_memory_bytes,
        losses=tuple(step.loss for step in seen),
    )


def _sum(splits: Sequence[StepSplit]) -> StepSplit:
    dumped = [split.model_dump() for split in splits]
    return StepSplit(**{name: sum(one[name] for one in dumped) for name in dumped[0]})


def _device() -> str:
    if default_device() == "cpu":
        return "CPU"
    import torch

    return str(torch.cuda.get_device_name(0))
