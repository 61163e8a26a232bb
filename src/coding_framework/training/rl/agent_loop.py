"""verl plug-in: the agent loop that calls the one episode driver.

Each turn becomes a training row of its own: the prompt ids that the model was given, the ids that it
sampled with their log-probabilities, and the return of that turn on the last token. An episode that
was lost to a fault of ours becomes one row whose mask is all zero: it counts in the metrics, never in
the loss and never in a baseline.

An episode is named after its step, its place in the step and its number in the group, and its answers are
drawn from that name: a step that is done again after a resume has the same episodes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import torch
from ray.exceptions import RayActorError
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from coding_framework.agents.models.chat_template import prompt_token_ids
from coding_framework.data.curriculum.outcome import EpisodeOutcome
from coding_framework.records import Conversation, Generation, GenerationRequest
from coding_framework.training.rl.episode_runner import EpisodeRunner, Turns, turn_samples
from coding_framework.training.rl.names import (
    AGENT_NAME,
    GROUP_FIELD,
    GROUP_SIZE_FIELD,
    REPORT_FIELD,
    ROLLOUT_NAME,
    place_of_prompt,
)
from coding_framework.training.rl.openings import Opening, read_openings
from coding_framework.training.rl.overlong import OverlongShaping
from coding_framework.training.rl.process_watch import record_loss
from coding_framework.training.rl.prompt_limit import cut_middle
from coding_framework.training.rl.rounds import Rounds
from coding_framework.training.rl.start_stages import mark_stage
from coding_framework.training.rl.task_choice import EpisodeReport
from coding_framework.training.rl.worker_settings import WorkerSettings


class TurnOutput(AgentLoopOutput):  # type: ignore[misc]
    """A row with a reward of its own.

    verl copies the last row's `reward_score` over the others of the session; `rm_scores` is what the
    trainer reads, so it is written here from `turn_return`. Each row tells how its episode went.
    """

    turn_return: float = 0.0
    report: str = ""

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = super().as_dict()
        row.pop("turn_return", None)
        row.pop("report", None)
        row[REPORT_FIELD] = self.report
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
    rl = _settings().rl
    return rl.gpus.rollout or (rl.gpus.actor or 1) * rl.nodes


_rounds: dict[str, Rounds] = {}
"""Of the groups that are under way in this process."""


@register(AGENT_NAME)
class EpisodeAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One instance for each episode."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[TurnOutput]:
        step = _settings().steps_before + int(row["global_steps"])
        with _runner().fatal_faults(str(row["extra_info"]["task"]), step):
            return await self._rows_of(sampling_params, row, step)

    async def _rows_of(
        self, sampling_params: dict[str, Any], row: dict[str, Any], step: int
    ) -> list[TurnOutput]:
        episode = f"step{step}n{place_of_prompt(str(row['uid']))}-{row['session_id']}"
        group = str(row[GROUP_FIELD])
        rounds = _rounds.setdefault(group, Rounds(int(row[GROUP_SIZE_FIELD])))
        task = str(row["extra_info"]["task"])
        try:
            conversation = await _runner().run(
                task,
                self._generate_with(sampling_params, episode, group, step),
                step,
                episode,
                opening=_opening(row["extra_info"]),
            )
        finally:
            rounds.leave()
            if rounds.is_over:
                del _rounds[group]
        weights_version = int(row["global_steps"]) - 1
        if conversation is None:
            rows = [self._lost_row(weights_version)]
        else:
            rows = _rows(conversation, weights_version, _settings().overlong)
        report = _report(task, conversation)
        return [row.model_copy(update={"report": report}) for row in rows]

    def _generate_with(self, params: dict[str, Any], episode: str, group: str, step: int) -> Any:
        limit = int(self.rollout_config.prompt_length)

        async def generate(request: GenerationRequest) -> Generation:
            prompt = cut_middle(prompt_token_ids(self.tokenizer, request.messages), limit)
            sampling = {**params, **self._limits(request), **await self._together(request, group)}
            async with _runner().turns.taking("sampling", step):
                output = await self._ask(episode, prompt, sampling)
            _mark_first_answer()
            return Generation(
                text=self.tokenizer.decode(output.token_ids, skip_special_tokens=True),
                prompt_token_ids=tuple(prompt),
                token_ids=tuple(output.token_ids),
                log_probs=tuple(output.log_probs),
                finish_reason=self._finish_reason(output, sampling["max_tokens"]),
            )

        return generate

    async def _ask(self, episode: str, prompt: list[int], sampling: dict[str, Any]) -> Any:
        try:
            return await self.server_manager.generate(
                request_id=episode, prompt_ids=prompt, sampling_params=sampling
            )
        except RayActorError:
            record_loss(WorkerSettings.from_environment().lost_file, str(self.rollout_config.name))
            raise

    def _finish_reason(self, output: Any, limit: int) -> Literal["stop", "length"]:
        """verl's vLLM says `completed` for both: what is as long as it may be and ends in a token that
        ends nothing was cut off."""
        if output.stop_reason == "length":
            return "length"
        ends = set(self.tokenizer.all_special_ids)
        was_cut = len(output.token_ids) >= limit and output.token_ids[-1] not in ends
        return "length" if was_cut else "stop"

    def _limits(self, request: GenerationRequest) -> dict[str, Any]:
        return {"max_tokens": min(request.max_tokens, int(self.rollout_config.response_length))}

    async def _together(self, request: GenerationRequest, group: str) -> dict[str, Any]:
        """For the transformers server: what the answer is drawn from, and with whom it is sampled.

        With several servers nobody knows which of them a request will reach: each takes whoever comes.
        """
        if self.rollout_config.name != ROLLOUT_NAME:
            return {}
        if _num_servers() > 1:
            return {"seed": request.seed}
        now = await _rounds[group].wait()
        return {"seed": request.seed, "cohort": f"{group}/{now.number}", "cohort_size": now.size}

    def _lost_row(self, weights_version: int) -> TurnOutput:
        end = self.tokenizer.eos_token_id
        return _row([end], [end], [0.0], 0.0, weights_version, mask=0)


def _report(task: str, conversation: Conversation | None) -> str:
    outcome = EpisodeOutcome.of_conversation(conversation) if conversation is not None else None
    return EpisodeReport(task=task, outcome=outcome).model_dump_json()


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
