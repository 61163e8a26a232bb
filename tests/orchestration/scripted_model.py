"""A chat model that goes the whole way: it does not compile, then is wrong, then slow, then fast.

It keeps no memory: what it answers follows from what the prompt says, so that it goes on in a fresh
process, and a prompt that does not say what happened makes it answer something else. Run as a script it
is the process that the resume test kills:

    scripted_model.py FOLDER SECONDS     go on with the conversation in FOLDER, one line for each event;
                                         the model takes so long for an answer
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from coding_framework.config import ConversationConfig, JudgeConfig
from coding_framework.cuda.pool import JudgePool
from coding_framework.data.tasks import get_task, variants
from coding_framework.orchestration.workflow import CUDAKernelWorkflow
from coding_framework.records import Conversation, ConversationTurn, Generation, GenerationRequest
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward

TASK = get_task("row_sum")
SLOW = TASK.baseline
WRONG = SLOW.replace("c < cols", "c < cols - 1")
BROKEN = SLOW.replace("float total", "flaot total")
FAST = variants("row_sum")[0].source
SETTINGS = ConversationConfig(max_turns=4, early_stop_reward=1.0)
JUDGE = JudgeConfig(executor="emulator", workers=1, secret="the same inputs in every process")
CONVERSATION_ID = "scripted-1"


class ScriptedModel:
    """Reads the judge's words and takes the next step."""

    def __init__(self) -> None:
        self.requests: list[GenerationRequest] = []

    async def generate(self, request: GenerationRequest) -> Generation:
        self.requests.append(request)
        words = request.messages[-1].content
        source = FAST
        if request.agent == "generator":
            source = BROKEN
        elif "does not compile" in words:
            source = WRONG
        elif "Wrong result" in words:
            source = SLOW
        ids = tuple(len(line) for line in source.splitlines())
        return Generation(
            text=f"Here it is.\n```cuda\n{source}\n```",
            prompt_token_ids=(len(words),),
            token_ids=ids,
            log_probs=tuple(-0.01 * number for number in ids),
        )


async def converse(folder: Path, answer_s: float) -> Conversation:
    """The conversation in `folder`, from its last finished step on."""
    model = ScriptedModel()

    def say(event: str, **facts: object) -> None:
        sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
        sys.stdout.flush()

    async def generate(request: GenerationRequest) -> Generation:
        say("asked", agent=request.agent)
        await asyncio.sleep(answer_s)
        return await model.generate(request)

    def on_turn(turn: ConversationTurn) -> None:
        say("turn", index=turn.index, verdict=turn.evaluation.verdict.value)

    with JudgePool(JUDGE) as pool:
        workflow = CUDAKernelWorkflow(
            SETTINGS,
            judge=pool.judge_async,
            reward=CUDAPerformanceReward(),
            checkpoints=folder / "checkpoints.sqlite",
        )
        return await workflow.run(TASK, generate, conversation_id=CONVERSATION_ID, on_turn=on_turn)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    (where / "conversation.json").write_text(
        asyncio.run(converse(where, float(sys.argv[2]))).model_dump_json()
    )
