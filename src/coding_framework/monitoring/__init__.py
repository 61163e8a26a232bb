"""What a run leaves behind: its folder, its log, its progress on the terminal, and its report."""

from coding_framework.monitoring.logs import configure_logging
from coding_framework.monitoring.progress import ProgressBar, progress_bar
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_state import FinishedPhase, MachineFacts, MetricPoint, RunState

__all__ = [
    "FinishedPhase",
    "MachineFacts",
    "MetricPoint",
    "ProgressBar",
    "RunFolder",
    "RunState",
    "configure_logging",
    "progress_bar",
]
