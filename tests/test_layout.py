"""The promised modules exist, and nothing heavy loads before it is needed."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "verl", "ray", "peft", "vllm", "matplotlib")
PROMISED = {
    "coding_framework.cuda.compiler": ("CUDACompiler", "CompilationResult"),
    "coding_framework.cuda.benchmarker": ("CUDABenchmarker", "BenchmarkResult"),
    "coding_framework.cuda.safety_wrapper": ("SafetyWrapper", "SecurityValidator", "DockerSandbox"),
    "coding_framework.cuda.analysis.safety": ("CUDASafetyAnalyzer",),
    "coding_framework.cuda.analysis.pitfalls": ("CUDAPitfallDetector",),
    "coding_framework.cuda.judge": ("judge",),
    "coding_framework.cuda.pool": ("JudgePool", "open_pool"),
    "coding_framework.data.data_pipeline": ("CUDADataPipeline", "TrainingExample", "TestCase"),
    "coding_framework.data.sakana_loader": ("SakanaDataLoader",),
    "coding_framework.data.kernelbench_loader": ("KernelBenchLoader",),
    "coding_framework.data.curriculum_manager": (
        "CurriculumManager",
        "CurriculumTier",
        "PerformanceHistory",
    ),
    "coding_framework.orchestration.workflow": ("CUDAKernelWorkflow",),
    "coding_framework.training.multi_turn_conversation": (
        "MultiTurnConversationManager",
        "CUDAConversationState",
        "ConversationTurn",
    ),
    "coding_framework.training.reward_functions.cuda_performance_reward": (
        "CUDAPerformanceReward",
        "RewardComponents",
    ),
    "coding_framework.training.verl_integration": (
        "MultiAgentVERLTrainer",
        "SakanaDataLoader",
        "CurriculumManager",
        "CUDASafetyAnalyzer",
        "CUDAPitfallDetector",
        "AgentSpecializer",
    ),
}


@pytest.mark.parametrize(("module", "names"), PROMISED.items(), ids=PROMISED.keys())
def test_a_promised_name_can_be_imported_from_where_it_was_promised(
    module: str, names: tuple[str, ...]
) -> None:
    loaded = importlib.import_module(module)
    for name in names:
        assert hasattr(loaded, name), f"{module} has no {name}"


@pytest.mark.parametrize(
    "module", ["coding_framework.cli.main", "coding_framework.pipeline", *PROMISED], ids=str
)
def test_importing_loads_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_help_loads_neither_the_judge_nor_what_only_work_needs() -> None:
    """It answers in a fifth of a second because of it."""
    program = (
        "import atexit, sys\n"
        "from coding_framework.cli.main import app\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "app(['--help'])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage" in answer.stdout
    loaded = answer.stderr.split()
    assert "typer" in loaded
    unneeded = {
        *HEAVY,
        "numpy",
        "cuda",
        "tree_sitter",
        "langgraph",
        "datasets",
        "pydantic",
        "structlog",
        "coding_framework.cuda",
    }
    assert unneeded.isdisjoint(loaded)
