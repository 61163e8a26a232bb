"""What an optimisation was asked for, what came of it, and the folder that holds both.

Everything lies in one folder, so that Ctrl-C or a killed process loses at most the step it was in:

    settings.json         what was asked for; `--resume` continues with exactly this
    checkpoints.sqlite    every conversation after every step
    conversations.jsonl   finished conversations, one a line
    best.cu  best.diff  trajectory.svg  outcome.json
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from coding_framework.config import ConversationConfig, JudgeConfig, RewardConfig
from coding_framework.monitoring.storage import RecordReader, append_line, storage_errors, write_whole
from coding_framework.records import Conversation, Evaluation, Record


class OptimizeSettings(Record):
    """What was asked for."""

    problem: str
    """The file's text, or the name of a task of the catalogue."""
    problem_name: str
    """As it was given on the command line."""
    model: str
    """Which chat model."""
    adapter: Path | None = None
    """Its adapter."""
    tries: int = Field(default=1, ge=1, le=1000)
    """Independent conversations."""
    seed: int = Field(default=17, ge=0)
    """Of everything random that is not secret."""
    temperature: float = Field(default=0.8, ge=0)
    """Of the model's sampling."""
    conversation: ConversationConfig
    """The shape of each conversation."""
    reward: RewardConfig
    """What a turn earns."""
    judge: JudgeConfig
    """How candidates are judged."""


class OptimizeOutcome(Record):
    """What came of it."""

    problem: str
    """Name of the task."""
    improved: bool
    """Whether there is a verified kernel with a speedup whose interval excludes 1."""
    best: Evaluation | None
    """The judge's second verdict on the fastest such kernel."""
    best_try: int | None = Field(default=None, ge=0)
    """The conversation that it comes from."""
    best_turn: int | None = Field(default=None, ge=0)
    """The turn in it."""
    tries: int = Field(ge=0)
    """Conversations begun."""
    turns: int = Field(ge=0)
    """Turns taken in them."""
    passed: int = Field(ge=0)
    """Turns whose kernel is correct."""
    best_speedup_seen: float | None = None
    """Of any turn that passed, better or not."""
    unconfirmed: int = Field(default=0, ge=0)
    """Kernels that looked better and did not do so again."""
    folder: Path
    """Where everything lies."""


@dataclass(frozen=True)
class OptimizeFolder:
    """The folder of one optimisation."""

    path: Path

    @property
    def settings_file(self) -> Path:
        return self.path / "settings.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints.sqlite"

    @property
    def trajectory(self) -> Path:
        return self.path / "trajectory.svg"

    def begin(self, settings: OptimizeSettings) -> None:
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.settings_file, settings.model_dump_json(indent=2))

    def conversations(self) -> dict[str, Conversation]:
        """Finished ones by their id."""
        reader = RecordReader(self.path / "conversations.jsonl", Conversation)
        return {conversation.conversation_id: conversation for conversation in reader}

    def keep(self, conversation: Conversation) -> None:
        append_line(self.path / "conversations.jsonl", conversation.model_dump_json())
