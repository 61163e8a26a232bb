"""verl plug-in: the agent loop that calls the one episode driver.

Each turn becomes a training row of its own: the prompt ids that the model was given, the ids that it
sampled with their log-probabilities, and the return of that turn on the last token. An episode that
was lost to a fault of ours becomes one row whose mask is all zero: it counts in the metrics, never in
the loss and never in a baseline.
"""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import Any
from uuid import uuid4

import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.records import Conversation, Generation, GenerationRequest
from coding_framework.training.rl.episode_runner import EpisodeRunner, Turns, turn_samples
from coding_framework.training.rl.names import AGENT_NAME, ROLLOUT_NAME
from coding_framework.training.rl.openings import Opening, read_openings
from coding_framework.training.rl.overlong import OverlongShaping
from coding_framework.training.rl.prompt_limit import cut_middle
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.worker_settings import WorkerSettings


class TurnOutput(AgentLoopOutput):  # type: ignore[misc]
    """A row with a reward of its own.

    verl copies the last row's `reward_score` over the others of the session; `rm_scores` is what the
    trainer reads, so it is written here from `turn_return`.
    """

    turn_return: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = super().as_dict()
        row.pop("turn_return", None)
        scores = torch.zeros(len(self.response_ids), dtype=torch.float32)
        scores[-1] = self.turn_return
        row["rm_scores"] = scores
        return row


@cache
def _runner() -> EpisodeRunner:
    """One judge pool, and one room where it takes turns with the policy, for all episodes of this process."""
    return EpisodeRunner(_settings())


@cache
def _settings() -> WorkerSettings:
    return WorkerSettings.from_environment()


@cache
def _openings() -> dict[int, Opening]:
    return read_openings(_settings().openings_file)


def _opening(extra_info: dict[str, Any]) -> Turns:
    """What the episode goes on from, if its prompt names something."""
    visit = extra_info.get("opening")
    return () if visit is None else _openings()[int(visit)].turns


@cache
def _mark_first_answer() -> None:
    """Once for each process."""
    mark_stage("first_answer")


@cache
def _num_servers() -> int:
    """Among which the requests are spread."""
    gpus = WorkerSettings.from_environment().rl.gpus
    return gpus.rollout or gpus.actor or 1


_under_way: set[str] = set()


@register(AGENT_NAME)
class EpisodeAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One instance for each episode."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[TurnOutput]:
        global_step = int(row["global_steps"])
        step = _settings().steps_before + global_step
        episode_id = uuid4().hex
        _under_way.add(episode_id)
        try:
            conversation = await _runner().run(
                str(row["extra_info"]["task"]),
                self._generate_with(sampling_params, episode_id, step),
                step,
                opening=_opening(row["extra_info"]),
            )
        finally:
            _under_way.discard(episode_id)
        weights_version = global_step - 1
        if conversation is None:
            return [self._lost_row(weights_version)]
        return _rows(conversation, weights_version, _settings().overlong)

    def _generate_with(self, sampling_params: dict[str, Any], episode_id: str, step: int) -> Any:
        limit = int(self.rollout_config.prompt_length)

        async def generate(request: GenerationRequest) -> Generation:
            prompt = cut_middle(prompt_token_ids(self.tokenizer, request.messages), limit)
            async with _runner().turns.taking("sampling", step):
                output = await self.server_manager.generate(
                    request_id=episode_id,
                    prompt_ids=prompt,
                    sampling_params=self._sampling(sampling_params, request.max_tokens),
                )
            _mark_first_answer()
            return Generation(
                text=self.tokenizer.decode(output.token_ids, skip_special_tokens=True),
                prompt_token_ids=tuple(prompt),
                token_ids=tuple(output.token_ids),
                log_probs=tuple(output.log_probs),
                finish_reason="length" if output.stop_reason == "length" else "stop",
            )

        return generate

    def _sampling(self, params: dict[str, Any], max_tokens: int) -> dict[str, Any]:
        limited = {**params, "max_tokens": min(max_tokens, int(self.rollout_config.response_length))}
        if self.rollout_config.name == ROLLOUT_NAME:
            limited["cohort"] = ceil(len(_under_way) / _num_servers())
        return limited

    def _lost_row(self, weights_version: int) -> TurnOutput:
        end = self.tokenizer.eos_token_id
        return _row([end], [end], [0.0], 0.0, weights_version, mask=0)


def _rows(
    conversation: Conversation, weights_version: int, overlong: OverlongShaping | None
) -> list[TurnOutput]:
    return [
        _row(
            list(sample.prompt_ids),
            list(sample.response_ids),
            list(sample.log_probs),
            sample.value - (overlong.penalty(len(sample.response_ids)) if overlong else 0.0),
            weights_version,
        )
        for sample in turn_samples(conversation)
    ]


def _row(
    prompt: list[int],
    response: list[int],
    log_probs: list[float],
    value: float,
    weights_version: int,
    mask: int = 1,
) -> TurnOutput:
    return TurnOutput(
        prompt_ids=prompt,
        response_ids=response,
        response_mask=[mask] * len(response),
        response_logprobs=log_probs,
        reward_score=value,
        turn_return=value,
        num_turns=2,
        metrics=AgentLoopMetrics(),
        extra_fields={
            "min_global_steps": weights_version,
            "max_global_steps": weights_version,
            "reward_extra_info": {},
        },
    )
