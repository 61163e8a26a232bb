"""One config tree: defaults, then a TOML file, then the command line."""

from coding_framework.config.algorithms import CorrectionConfig, DAPOConfig, KLBandConfig, PPOConfig
from coding_framework.config.curriculum import CurriculumConfig, CurriculumTier
from coding_framework.config.load import build_config, load_config, preset_dir
from coding_framework.config.monitoring import MonitoringConfig
from coding_framework.config.reward import (
    BUILT_IN,
    EfficiencyWeights,
    GatedWeights,
    QualityWeights,
    RewardConfig,
    RewardWeights,
)
from coding_framework.config.tree import (
    ConversationConfig,
    EvaluationConfig,
    FrameworkConfig,
    GPUAllocation,
    JudgeConfig,
    ModelConfig,
    RLConfig,
    RunConfig,
    SFTConfig,
    TasksConfig,
)

__all__ = [
    "BUILT_IN",
    "ConversationConfig",
    "CorrectionConfig",
    "CurriculumConfig",
    "CurriculumTier",
    "DAPOConfig",
    "EfficiencyWeights",
    "EvaluationConfig",
    "FrameworkConfig",
    "GPUAllocation",
    "GatedWeights",
    "JudgeConfig",
    "KLBandConfig",
    "ModelConfig",
    "MonitoringConfig",
    "PPOConfig",
    "QualityWeights",
    "RLConfig",
    "RewardConfig",
    "RewardWeights",
    "RunConfig",
    "SFTConfig",
    "TasksConfig",
    "build_config",
    "load_config",
    "preset_dir",
]
