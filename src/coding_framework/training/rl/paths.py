"""Where the files of one RL phase lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coding_framework.records import AgentRole


@dataclass(frozen=True)
class RLPaths:
    """Files of one RL phase."""

    run_dir: Path
    model_path: Path
    ray_temp_dir: Path
    agent: AgentRole | None = None
    """Whose policy is trained; None: one that all agents share."""

    @property
    def rl_dir(self) -> Path:
        return self.run_dir / "rl" / (self.agent or "")

    @property
    def prompts(self) -> Path:
        return self.rl_dir / "prompts.parquet"

    @property
    def checkpoints(self) -> Path:
        return self.run_dir / "checkpoints" / "rl" / (self.agent or "")

    @property
    def exported_model(self) -> Path:
        return self.run_dir / "models" / "rl" / (self.agent or "")

    @property
    def log(self) -> Path:
        return self.run_dir / "logs" / "verl.log"

    @property
    def step_metrics(self) -> Path:
        """Written by verl's file logger, which empties it at every start."""
        return self.rl_dir / "verl_metrics.jsonl"

    @property
    def processes(self) -> Path:
        """Locked as long as a process of the phase lives."""
        return self.rl_dir / "processes.lock"
