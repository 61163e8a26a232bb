"""A chat model of one's own: another model is asked until its answer compiles, four times at most.

    COMPILING_ANSWERS_BASE=smollm2 cuda-rl optimize row_sum --model compiling_answers:compiling
    cuda-rl evaluate compiling_answers:compiling --config quick

Started from this folder, or with it on PYTHONPATH. COMPILING_ANSWERS_BASE names the model that is asked, as
`--model` would.
"""

from __future__ import annotations

import os

from coding_framework.agents.models.chat_model import ChatModel, SamplingSettings
from coding_framework.agents.models.open_model import open_chat_model
from coding_framework.agents.parsing import parse_answer
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.records import Generation, GenerationRequest

TRIES = 4


def compiling(settings: SamplingSettings) -> ChatModel:
    """What `--model` names: called once, with temperature and seed."""
    base = os.environ.get("COMPILING_ANSWERS_BASE", "smollm2")
    return CompilingAnswers(open_chat_model(base, settings=settings))


class CompilingAnswers:
    """The first answer that compiles, or the last one."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._compiler = CUDACompiler()

    def close(self) -> None:
        """Nothing is asked any more."""
        self._compiler.close()
        self._model.close()

    async def generate(self, request: GenerationRequest) -> Generation:
        answer = await self._model.generate(request)
        for attempt in range(1, TRIES):
            if await self._compiles(answer):
                break
            answer = await self._model.generate(_asked_again(request, attempt))
        return answer

    async def _compiles(self, answer: Generation) -> bool:
        candidate = parse_answer(answer, contract="kernel").candidate
        return candidate is not None and (await self._compiler.compile_kernel(candidate.source)).success


def _asked_again(request: GenerationRequest, attempt: int) -> GenerationRequest:
    """A request with a seed of its own would be answered the same; without one the model draws anew."""
    if request.seed is None:
        return request
    return request.model_copy(update={"seed": request.seed + attempt})
