"""Plays the openings of the optimizer's episodes with the trained generator, before the phase begins.

Guaranteed: openings follow from the run's seed, the tasks and the generator's weights; each is written
down as it ends, and a start after a kill plays the batches that are not whole; model and judge are given
back.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from coding_framework.agents.models.chat_model import SamplingSettings
from coding_framework.agents.models.loading import release_memory, sampling_dtype
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.cuda.pool import open_pool
from coding_framework.data.data_pipeline import CUDADataPipeline
from coding_framework.data.sources.book import find_task
from coding_framework.errors import TrainingError, TrainingInterrupted
from coding_framework.monitoring.storage import append_line, storage_errors
from coding_framework.orchestration.episode import all_of
from coding_framework.records import Generation, GenerationRequest
from coding_framework.training.rl.episode_runner import EpisodeRunner
from coding_framework.training.rl.launch import RLJob
from coding_framework.training.rl.openings import (
    DRAWS,
    Opening,
    chosen,
    forget_openings,
    read_openings,
    to_play,
)
from coding_framework.training.rl.prompts_file import num_prompts
from coding_framework.training.rl.worker_settings import WorkerSettings

log = structlog.stdlib.get_logger(__name__)


async def play_openings(
    job: RLJob, generator: Path, should_stop: Callable[[], bool] | None = None
) -> list[Opening]:
    """As many as `job` has prompts, by the model in the folder `generator`; those that were played stay."""
    needed, at_once = num_prompts(job.config.rl), _at_once(job)
    played = read_openings(job.settings.openings_file)
    if to_play(played, needed, at_once):
        log.info("openings", played=len(played), needed=needed)
        with _player(job, generator) as play:
            # Batch by batch: a model and a judge that want the same cores at once take longer.
            while batch := to_play(played, needed, at_once):
                if should_stop is not None and should_stop():
                    raise TrainingInterrupted(f"stopped after {len(played)} openings for the optimizer")
                forget_openings(job.settings.openings_file, batch)
                played |= {one.visit: one for one in await all_of(play(visit) for visit in batch)}
        release_memory()
    found = chosen(played, needed)
    if not found:
        raise TrainingError(
            f"every first kernel of the generator ({generator}) already earns conversation.early_stop_reward "
            f"({job.settings.conversation.early_stop_reward:g}), so the optimizer has nothing to do: start a "
            f"run with harder tasks (tasks.train) or a higher conversation.early_stop_reward"
        )
    if len(found) < needed:
        log.warning("openings_come_again", different=len(found), needed=needed)
    return found


def first_turn_alone(settings: WorkerSettings) -> WorkerSettings:
    """The same with episodes that end with the generator's answer."""
    conversation = settings.conversation.model_copy(update={"max_turns": 1})
    return settings.model_copy(update={"conversation": conversation})


@contextmanager
def _player(job: RLJob, generator: Path) -> Iterator[Callable[[int], Coroutine[Any, Any, Opening]]]:
    """Makes one visit; with the generator's model, and a judge of its own."""
    rl, settings = job.config.rl, job.settings
    tasks = _visited(job)
    model = open_chat_model(
        str(generator),
        dtype=sampling_dtype(generator, job.config.model.dtype),
        settings=SamplingSettings(
            temperature=rl.temperature,
            top_p=rl.top_p,
            seed=job.config.run.seed,
            max_batch_size=_at_once(job),
        ),
    )
    with storage_errors(settings.rl_dir):
        settings.rl_dir.mkdir(parents=True, exist_ok=True)
    with open_pool(job.config.judge) as pool:
        runner = EpisodeRunner(first_turn_alone(settings), pool.judge_async)

        async def generate(request: GenerationRequest) -> Generation:
            async with runner.turns.taking("sampling", settings.steps_before):
                return await model.generate(request)

        async def play(visit: int) -> Opening:
            played = await runner.play(
                tasks[visit],
                generate,
                settings.steps_before,
                f"opening-{job.config.run.seed}-{visit}",
            )
            opening = Opening(visit=visit, task=tasks[visit], played=played)
            append_line(settings.openings_file, opening.model_dump_json())
            return opening

        yield play


def _visited(job: RLJob) -> list[str]:
    """Tasks in the order of visits: pass after pass over all that may come up, since nobody knows yet when
    which of them will."""
    config = job.config
    tasks = [find_task(config.tasks, name) for name in job.tasks]
    possible = CUDADataPipeline(tasks, seed=config.run.seed, curriculum=config.curriculum).tasks
    passes = CUDADataPipeline(possible, seed=config.run.seed)
    return [one.task.name for one in passes.get_training_batch(DRAWS * num_prompts(config.rl))]


def _at_once(job: RLJob) -> int:
    """As many as a step of RL samples together."""
    return job.config.rl.prompts_per_step * job.config.rl.group_size
