"""Apply another reward to the stored conversations of a run.

Guarantees: the originals are only read; one conversation is in memory at a time (of every turn two numbers
are kept, for the rank correlation); a line that is no conversation is skipped and counted; the result is
written beside and renamed, so a rescoring that is stopped leaves no half file under the final name. Not
guaranteed: what the policy would have done under the other reward. The turns stay as they were sampled;
`stops_moved` says how many episodes would have ended elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from coding_framework.config import RewardConfig
from coding_framework.errors import UserError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.storage import replacing, storage_errors, write_whole
from coding_framework.records import Conversation, Evaluation
from coding_framework.training.reward_functions.own_reward import Reward
from coding_framework.training.reward_functions.rescore_records import (
    RescoredConversation,
    RescoredTurn,
    RescoreReport,
)
from coding_framework.training.reward_functions.rescore_tally import Tally
from coding_framework.training.reward_functions.trial import checked_reward

OnConversation = Callable[[], None]


def rescore_run(
    run: RunFolder,
    reward: RewardConfig,
    *,
    early_stop_reward: float,
    on_conversation: OnConversation = lambda: None,
) -> RescoreReport:
    """Write `rescored/<digest>.jsonl` in the run folder and compare old with new."""
    reader, tally, function = run.read_conversations(), Tally(), checked_reward(reward)
    target = run.path / "rescored" / f"{reward_digest(reward)}.jsonl"
    with _written_beside(target) as stream:
        for conversation in reader:
            rescored = rescore_conversation(conversation, function, early_stop_reward)
            stream.write(rescored.model_dump_json() + "\n")
            tally.add(rescored)
            on_conversation()
        if not tally.conversations:
            raise UserError(_nothing_to_rescore(run, reader.skipped))
    write_whole(target.with_suffix(".json"), reward.model_dump_json(indent=2))
    return tally.report(run.path, target, reward, reader.skipped)


def reward_digest(reward: RewardConfig) -> str:
    """Twelve hex digits: the same settings, in whatever order, give the same file."""
    text = json.dumps(reward.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def rescore_conversation(
    conversation: Conversation, reward: Reward, early_stop_reward: float
) -> RescoredConversation:
    """Every turn of its own after the ones before it, each agent by its own weights."""
    opening = conversation.opening_turns
    earlier: list[Evaluation] = [turn.evaluation for turn in conversation.turns[:opening]]
    turns = []
    for turn in conversation.own_turns:
        turns.append(
            RescoredTurn(
                index=turn.index,
                agent=turn.agent,
                verdict=turn.evaluation.verdict,
                old_total=turn.reward.total,
                reward=reward.for_agent(turn.agent)(turn.evaluation, earlier),
            )
        )
        earlier.append(turn.evaluation)
    return RescoredConversation(
        conversation_id=conversation.conversation_id,
        task=conversation.task,
        step=conversation.step,
        turns=tuple(turns),
        stop_moves=_stop_moves(turns, early_stop_reward, conversation.max_turns - opening),
    )


def _stop_moves(turns: list[RescoredTurn], early_stop_reward: float, max_turns: int) -> bool:
    reached = [turn.reward.total >= early_stop_reward for turn in turns]
    if any(reached[:-1]):
        return True
    return len(turns) < max_turns and not reached[-1]


@contextmanager
def _written_beside(target: Path) -> Iterator[IO[str]]:
    """A stream that becomes `target` when the block ends well."""
    with storage_errors(target):
        target.parent.mkdir(exist_ok=True)
    try:
        with replacing(target) as beside, beside.open("w", encoding="utf-8", errors="replace") as stream:
            yield stream
    except BaseException:
        if not any(target.parent.iterdir()):
            target.parent.rmdir()
        raise


def _nothing_to_rescore(run: RunFolder, skipped: int) -> str:
    if skipped:
        return (
            f"{run.path} holds no readable conversation: {skipped} lines of conversations.jsonl are damaged"
        )
    return f"{run.path} holds no conversations yet: RL writes them, one a line, into conversations.jsonl"
