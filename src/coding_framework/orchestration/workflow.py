"""`CUDAKernelWorkflow`: a conversation as a LangGraph graph with a SQLite checkpoint after every step.

    START → generate → evaluate ⇄ optimise
                          ⇅ (with `conversation.tester`)
                         test

Guarantees: a process killed at any moment loses at most the step it was in; `run` with the same
`conversation_id` goes on behind the last finished step, and a finished conversation is only read. The
steps are those of `run_episode` (`steps.py`), and requests carry seeds, so that a model that honours them
gives the same record whether or not it was killed. The database holds our records as JSON text and
nothing that could run code when it is read.

Not guaranteed: that two processes may work on one conversation at the same time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from coding_framework.config import ConversationConfig
from coding_framework.errors import UserError
from coding_framework.orchestration.checkpoints import open_checkpoints
from coding_framework.orchestration.steps import (
    Answer,
    AnyTask,
    Episode,
    Generate,
    JudgeFn,
    Phase,
    RewardFn,
)
from coding_framework.records import Conversation, ConversationTurn

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

OnTurn = Callable[[ConversationTurn], None]
_MAX_STEPS = 200
"""Above three steps for each of twenty turns; LangGraph wants to know."""


class GraphState(TypedDict, total=False):
    """What a checkpoint holds: JSON of our records, and the settings that they were made with."""

    task: str
    settings: str
    turns: list[str]
    answer: str


class CUDAKernelWorkflow:
    """Runs conversations that survive their process."""

    def __init__(
        self,
        settings: ConversationConfig,
        *,
        judge: JudgeFn,
        reward: RewardFn,
        checkpoints: Path | None = None,
    ) -> None:
        self.settings = settings
        self._judge = judge
        self._reward = reward
        self._checkpoints = checkpoints

    async def run(
        self,
        task: AnyTask,
        generate: Generate,
        *,
        conversation_id: str,
        on_turn: OnTurn = lambda turn: None,
        step: int | None = None,
        phase: Phase = "interactive",
    ) -> Conversation:
        """Start the conversation of this id, or go on where it stopped; `on_turn` sees each new turn."""
        episode = Episode(
            task=task,
            generate=generate,
            judge=self._judge,
            reward=self._reward,
            settings=self.settings,
            conversation_id=conversation_id,
            seeded=True,
        )
        async with open_checkpoints(self._checkpoints) as saver:
            turns = await self._walk(build_graph(episode, saver), episode, on_turn)
        return episode.conclude(turns, step=step, phase=phase)

    async def stored_turns(self, conversation_id: str) -> tuple[ConversationTurn, ...]:
        """The turns that are finished so far; none for a conversation that never began."""
        async with open_checkpoints(self._checkpoints) as saver:
            found = await saver.aget_tuple(cast(Any, _thread(conversation_id)))
        values = {} if found is None else found.checkpoint["channel_values"]
        return tuple(read_turns(cast(GraphState, values)))

    async def _walk(self, graph: Any, episode: Episode, on_turn: OnTurn) -> list[ConversationTurn]:
        config = _thread(episode.conversation_id)
        begin = GraphState(
            task=episode.task.name, settings=self.settings.model_dump_json(), turns=[], answer=""
        )
        if self._checkpoints is None:
            return await _follow(graph.astream(begin, config, stream_mode="values"), episode, [], on_turn)
        stored = await graph.aget_state(config)
        if stored.values:
            self._require_the_same(stored.values, begin, episode.conversation_id)
        turns = read_turns(stored.values)
        if stored.values and not stored.tasks:  # `next` leaves out what is answered but not yet stored
            return turns
        start = None if stored.values else begin
        states = graph.astream(start, config, stream_mode="values", durability="sync")
        return await _follow(states, episode, turns, on_turn)

    @staticmethod
    def _require_the_same(stored: GraphState, begin: GraphState, conversation_id: str) -> None:
        if stored["task"] != begin["task"] or stored["settings"] != begin["settings"]:
            raise UserError(
                f"conversation {conversation_id} was begun on task {stored['task']} with other settings; "
                f"continue it with those ({stored['settings']}), or begin a new one"
            )


def build_graph(episode: Episode, saver: BaseCheckpointSaver[str] | None) -> CompiledStateGraph[Any]:
    """The graph of one conversation."""
    from langgraph.graph import END, START, StateGraph

    async def ask(state: GraphState) -> GraphState:
        answer = await episode.ask(read_turns(state))
        return {"answer": answer.model_dump_json()}

    async def evaluate(state: GraphState) -> GraphState:
        answer = Answer.model_validate_json(state["answer"])
        turn = await episode.evaluate(read_turns(state), answer)
        return {"turns": [*state["turns"], turn.model_dump_json()], "answer": ""}

    async def test(state: GraphState) -> GraphState:
        turn = await episode.test(read_turns(state))
        return {"turns": [*state["turns"][:-1], turn.model_dump_json()]}

    def after_judging(state: GraphState) -> str:
        turns = read_turns(state)
        if episode.wants_test(turns):
            return "test"
        return END if episode.is_over(turns) else "optimise"

    graph: StateGraph[Any] = StateGraph(GraphState)
    for name, node in (("generate", ask), ("optimise", ask), ("evaluate", evaluate), ("test", test)):
        graph.add_node(name, cast(Any, node))
    graph.add_edge(START, "generate")
    graph.add_edge("generate", "evaluate")
    graph.add_edge("optimise", "evaluate")
    graph.add_conditional_edges("evaluate", after_judging, ["test", "optimise", END])
    graph.add_conditional_edges("test", after_judging, ["optimise", END])
    return graph.compile(checkpointer=saver)


def read_turns(state: GraphState) -> list[ConversationTurn]:
    """The turns in a state."""
    return [ConversationTurn.model_validate_json(text) for text in state.get("turns", ())]


async def _follow(
    states: AsyncIterator[GraphState], episode: Episode, turns: list[ConversationTurn], on_turn: OnTurn
) -> list[ConversationTurn]:
    """The turns at the end; each is reported once, as soon as nothing will be added to it."""
    told = len(turns)
    async for state in states:
        turns = read_turns(state)
        final = len(turns) - 1 if turns and episode.wants_test(turns) else len(turns)
        for turn in turns[told:final]:
            on_turn(turn)
        told = max(told, final)
    return turns


def _thread(conversation_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": conversation_id}, "recursion_limit": _MAX_STEPS}
