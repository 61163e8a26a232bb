"""One warm start as a process is given it, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coding_framework.agents.models.loading import load_tokenizer
from coding_framework.config import SFTConfig
from coding_framework.training.sft.checkpoint import prune_checkpoints
from coding_framework.training.sft.engine import SFTEngine
from coding_framework.training.sft.examples import Example
from coding_framework.training.sft.export import export_model
from coding_framework.training.sft.results import SFTStep
from coding_framework.training.sft.team import Team


@dataclass(frozen=True)
class SFTJob:
    """Everything that decides the result."""

    examples: tuple[Example, ...]
    config: SFTConfig
    model_path: Path
    output_dir: Path
    seed: int
    attention: str
    """The resolved `model.attention`."""
    resume: bool
    """Go on from the newest checkpoint, if there is one."""


@dataclass(frozen=True)
class SFTLeft:
    """What is there when it is done."""

    adapter_dir: Path | None
    model_dir: Path
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Listener:
    """Who is told how it goes, and asked whether it shall go on."""

    on_start: Callable[[int], object]
    """Of the steps that were done before."""
    on_step: Callable[[SFTStep], object]
    should_stop: Callable[[], bool]


def do_job(job: SFTJob, team: Team, listener: Listener) -> SFTLeft | None:
    """Train; the first of a team also exports, and its listener alone decides."""
    tokenizer = load_tokenizer(job.model_path)
    checkpoints = job.output_dir / "checkpoints"
    engine = SFTEngine(
        job.examples,
        job.config,
        job.model_path,
        checkpoints,
        tokenizer.pad_token_id,
        job.seed,
        job.attention,
        team,
    )
    if job.resume:
        engine.resume()
    listener.on_start(engine.state.step)
    engine.train(listener.on_step, listener.should_stop)
    if team.rank:
        return None
    adapter_dir, model_dir = export_model(engine.model, tokenizer, job.model_path, job.output_dir)
    prune_checkpoints(checkpoints, keep=1)
    return SFTLeft(adapter_dir, model_dir, engine.state.losses)
