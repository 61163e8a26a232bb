"""PTX text into frozen records: the half of the emulator that knows the syntax and nothing else."""

from coding_framework.cuda.executors.emulator.ptx.model import (
    Address,
    BranchTargets,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Register,
    Symbol,
    Variable,
    Vector,
)
from coding_framework.cuda.executors.emulator.ptx.parser import PtxSyntaxError, parse_module

__all__ = [
    "Address",
    "BranchTargets",
    "Function",
    "Immediate",
    "Instruction",
    "Label",
    "Module",
    "PtxSyntaxError",
    "Register",
    "Symbol",
    "Variable",
    "Vector",
    "parse_module",
]
