"""How agents, judge and reward meet in one conversation."""

from coding_framework.orchestration.workflow import CUDAKernelWorkflow

__all__ = ["CUDAKernelWorkflow"]
