"""Several chat models behind one: each agent is answered by its own."""

from __future__ import annotations

from collections.abc import Mapping

from coding_framework.agents.models.chat_model import ChatModel
from coding_framework.records import AgentRole, Generation, GenerationRequest


class ChatModelByAgent:
    """Passes a request on by who asks; agents without a model of their own share the default."""

    def __init__(self, default: ChatModel, by_agent: Mapping[AgentRole, ChatModel]) -> None:
        self._default = default
        self._by_agent = dict(by_agent)

    async def generate(self, request: GenerationRequest) -> Generation:
        return await self._by_agent.get(request.agent, self._default).generate(request)

    def close(self) -> None:
        for model in (self._default, *self._by_agent.values()):
            model.close()
