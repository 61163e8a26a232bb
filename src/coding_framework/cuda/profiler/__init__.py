"""Where the time goes and what goes wrong: Nsight Compute and compute-sanitizer, into the project's records.

Both run a whole program, take seconds, and are used on request only.
"""

from coding_framework.cuda.profiler.ncu import NsightCompute
from coding_framework.cuda.profiler.sanitizer import ComputeSanitizer, SanitizerReport
from coding_framework.cuda.profiler.sanitizer_output import SanitizerFinding
from coding_framework.cuda.profiler.tools import ToolUnavailable

__all__ = ["ComputeSanitizer", "NsightCompute", "SanitizerFinding", "SanitizerReport", "ToolUnavailable"]
