"""The nouns of the flow. Every stage takes and returns one of these; none of them needs torch."""

from coding_framework.records.base import Record
from coding_framework.records.candidate import (
    MAX_SOURCE_BYTES,
    Candidate,
    Contract,
    Launch,
    LaunchPlan,
    ScratchBuffer,
)
from coding_framework.records.compilation import CompilationResult, Diagnostic, KernelResources
from coding_framework.records.conversation import (
    AgentRole,
    Conversation,
    ConversationTurn,
    Generation,
    GenerationRequest,
    JudgePlace,
    Message,
    TesterReport,
)
from coding_framework.records.evaluation import REFUSED_AS_HACKS, Evaluation, Gate, ShapeKind, Verdict
from coding_framework.records.expression import Expression, parse_expression
from coding_framework.records.finding import Finding, Severity
from coding_framework.records.measurement import (
    KernelTiming,
    ProfileReport,
    Roofline,
    ShapeCheck,
    TimeKind,
    WrongElement,
)
from coding_framework.records.reward import RewardComponents
from coding_framework.records.sample import EvaluationSample, SampleTurn, TaskSplit
from coding_framework.records.task import (
    Dimensions,
    Distribution,
    DType,
    ModuleTask,
    Oracle,
    Task,
    TensorSpec,
    Tolerance,
)

__all__ = [
    "MAX_SOURCE_BYTES",
    "REFUSED_AS_HACKS",
    "AgentRole",
    "Candidate",
    "CompilationResult",
    "Contract",
    "Conversation",
    "ConversationTurn",
    "DType",
    "Diagnostic",
    "Dimensions",
    "Distribution",
    "Evaluation",
    "EvaluationSample",
    "Expression",
    "Finding",
    "Gate",
    "Generation",
    "GenerationRequest",
    "JudgePlace",
    "KernelResources",
    "KernelTiming",
    "Launch",
    "LaunchPlan",
    "Message",
    "ModuleTask",
    "Oracle",
    "ProfileReport",
    "Record",
    "RewardComponents",
    "Roofline",
    "SampleTurn",
    "ScratchBuffer",
    "Severity",
    "ShapeCheck",
    "ShapeKind",
    "Task",
    "TaskSplit",
    "TensorSpec",
    "TesterReport",
    "TimeKind",
    "Tolerance",
    "Verdict",
    "WrongElement",
    "parse_expression",
]
