"""One config tree: defaults, then a TOML file, then the command line."""

from coding_framework.config.load import build_config, load_config, preset_dir
from coding_framework.config.tree import (
    ConversationConfig,
    EvaluationConfig,
    FrameworkConfig,
    JudgeConfig,
    ModelConfig,
    RewardConfig,
    RLConfig,
    RunConfig,
    SFTConfig,
    TasksConfig,
)

__all__ = [
    "ConversationConfig",
    "EvaluationConfig",
    "FrameworkConfig",
    "JudgeConfig",
    "ModelConfig",
    "RLConfig",
    "RewardConfig",
    "RunConfig",
    "SFTConfig",
    "TasksConfig",
    "build_config",
    "load_config",
    "preset_dir",
]
