"""What a run leaves behind: its folder, its log, its progress on the terminal, and its report."""

from coding_framework.monitoring.logs import configure_logging
from coding_framework.monitoring.progress import ProgressBar, progress_bar
from coding_framework.monitoring.results import EvaluationReport, Interval, ModelResult, TaskResult
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import FinishedPhase, MachineFacts, MetricPoint, RunState

__all__ = [
    "EvaluationReport",
    "FinishedPhase",
    "Interval",
    "MachineFacts",
    "MetricPoint",
    "ModelResult",
    "ProgressBar",
    "RunFolder",
    "RunState",
    "TaskResult",
    "configure_logging",
    "progress_bar",
]
