"""Task lint: adversaries that must fail on every task, and rules that every task must keep."""

from coding_framework.cuda.lint.lint import lint_task
from coding_framework.cuda.lint.records import AdversaryResult, TaskDefect, TaskLint

__all__ = ["AdversaryResult", "TaskDefect", "TaskLint", "lint_task"]
