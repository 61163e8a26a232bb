"""Evaluate one model into one folder: the single door for a training's models and for `cuda-rl evaluate`.

Guarantees: nothing is sampled that the folder holds already; every sample and its conversation are written as
the episode ends; the engine's memory is free when this returns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from coding_framework import __version__
from coding_framework.agents.models.agent_folder import is_agent_folder, read_agent_folder
from coding_framework.agents.models.chat_model import ChatModel, SamplingSettings
from coding_framework.agents.models.loading import release_memory, sampling_dtype
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.agents.models.own_model import names_own_model
from coding_framework.agents.models.vllm_model import MEMORY_SHARE
from coding_framework.config import FrameworkConfig
from coding_framework.cuda.pool import JudgePool
from coding_framework.evaluation.sampling import conversation_id, take_samples
from coding_framework.evaluation.subjects import Suite
from coding_framework.monitoring.evaluation_folder import EvaluationFolder, EvaluationHead, EvaluationSettings
from coding_framework.monitoring.progress import progress_bar
from coding_framework.monitoring.rewind import rewind_evaluation
from coding_framework.records import Conversation, EvaluationSample
from coding_framework.training.reward_functions.own_reward import reward_of

SHARE_BESIDE_THE_JUDGE = 0.5
"""Of a card's memory for vLLM, where the judge measures on the card as well."""


def head_of(config: FrameworkConfig, label: str, model: Path, suite: Suite) -> EvaluationHead:
    """What is asked of a model; `config` is a settled one."""
    conversation, evaluation = config.conversation, config.evaluation
    return EvaluationHead.model_validate(
        {
            "label": label,
            "model": str(model),
            "weights": weights_digest(model),
            "seed": config.run.seed,
            "samples_per_task": evaluation.samples_per_task,
            "settings": EvaluationSettings.model_validate(
                {
                    "max_turns": evaluation.max_turns,
                    "temperature": evaluation.temperature,
                    "max_prompt_tokens": conversation.max_prompt_tokens,
                    "max_response_tokens": conversation.max_response_tokens,
                    "early_stop_reward": conversation.early_stop_reward,
                    "tester": conversation.tester,
                    "reward": config.reward,
                    "executor": config.judge.executor,
                    "architecture": config.judge.architecture,
                    "compile_flags": config.judge.compile_flags,
                    "engine": "own" if names_own_model(str(model)) else evaluation.engine,
                    "dtype": sampling_dtype(model, config.model.dtype),
                }
            ),
            "tasks": tuple(subject.about for subject in suite.subjects),
            "left_out": suite.left_out,
            "version": __version__,
        }
    )


async def evaluate_into(
    folder: EvaluationFolder,
    head: EvaluationHead,
    suite: Suite,
    config: FrameworkConfig,
    pool: JudgePool,
    *,
    conversations: Path,
    on_conversation: Callable[[Conversation], None],
    on_stored: Callable[[], None] = lambda: None,
    start_anew: bool = False,
) -> None:
    """All samples that the folder lacks; `conversations` is the file that `on_conversation` fills.

    `on_stored` may raise to end it: what is stored by then is kept.
    """
    stored = folder.begin(head, start_anew=start_anew)
    kept = {conversation_id(head.label, *one.key) for one in stored}
    rewind_evaluation(conversations, head.label, kept)
    total = len(head.tasks) * head.samples_per_task
    if len(stored) == total:
        return
    with progress_bar(f"evaluating {head.label}", total) as bar:
        bar.advance(len(stored))

        def keep(conversation: Conversation, sample: EvaluationSample) -> None:
            on_conversation(conversation)
            folder.append(sample)
            bar.advance()
            on_stored()

        model = _open(config, head)
        try:
            await take_samples(
                model.generate,
                suite.subjects,
                config,
                label=head.label,
                stored={one.key for one in stored},
                judge=pool.judge_async,
                reward=reward_of(config.reward),
                on_sample=keep,
            )
        finally:
            model.close()
            del model
            release_memory()


def _open(config: FrameworkConfig, head: EvaluationHead) -> ChatModel:
    """The model in this process, sampling as the evaluation's settings say."""
    evaluation = config.evaluation
    settings = SamplingSettings(
        temperature=evaluation.temperature, seed=config.run.seed, max_batch_size=evaluation.batch_size or 16
    )
    share = SHARE_BESIDE_THE_JUDGE if config.judge.executor == "gpu" else MEMORY_SHARE
    spec = f"vllm:{head.model}" if head.settings.engine == "vllm" else head.model
    return open_chat_model(spec, dtype=head.settings.dtype, settings=settings, gpu_memory_share=share)


def label_of(model: Path) -> str:
    """Its folder's name, with that of the folder above where it says little."""
    name = f"{model.parent.name}-{model.name}" if model.name in ("merged", "model") else model.name
    return name.replace(":", "-")


def weights_digest(model: Path) -> str:
    """Of all files of a model, with those that it names; of a model of one's own there is but its name."""
    digest = hashlib.sha256()
    if names_own_model(str(model)):
        return hashlib.sha256(str(model).encode()).hexdigest()[:16]
    for file in _files(model):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def _files(model: Path) -> Iterator[Path]:
    folders = [model]
    if is_agent_folder(model):
        named = read_agent_folder(model)
        folders = [named.model, *(folder for _, folder in sorted({**named.adapters, **named.models}.items()))]
    for folder in folders:
        yield from sorted(file for file in folder.iterdir() if file.is_file())
