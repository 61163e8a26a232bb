"""Proof that a kept text and the text that was judged are one program.

Guarantees: `is_same_program` is true only if both plans say the same, argument for argument, once the
task's names are mapped, and the code is the same: token for token where no kernel has another name,
else by the compiler's PTX of both texts with the kernels' names mapped (comments, line info and names
of variables aside, as everywhere a verdict is shared).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from coding_framework.cuda.contract import ContractViolation, parse_launch_plan
from coding_framework.cuda.toolchain.ptx_identity import normalised_ptx
from coding_framework.cuda.toolchain.source_scan import without_comments
from coding_framework.data.pairs.restyle import DressedKernel
from coding_framework.data.pairs.source_edit import replace_words
from coding_framework.records import CompilationResult, Launch, LaunchPlan, Task

Compile = Callable[[str], CompilationResult]


def is_same_program(
    kernel: DressedKernel,
    original: Task,
    task: Task,
    judged_ptx: str,
    compile_source: Compile,
) -> bool:
    """Whether what was found out about `kernel.judged` holds for `kernel.kept`."""
    if kernel.kept == kernel.judged and original.default_arguments == task.default_arguments:
        return True
    return _same_plan(kernel, original, task) and _same_code(kernel, judged_ptx, compile_source)


def _same_plan(kernel: DressedKernel, original: Task, task: Task) -> bool:
    names = dict(zip(original.default_arguments, task.default_arguments, strict=True))
    try:
        judged, kept = parse_launch_plan(kernel.judged, original), parse_launch_plan(kernel.kept, task)
    except ContractViolation:
        return False
    return _plan_facts(judged, {**names, **kernel.kernels}) == _plan_facts(kept, {})


def _plan_facts(plan: LaunchPlan, names: Mapping[str, str]) -> object:
    scratch = [(b.name, b.dtype, replace_words(b.num_elements.text, names)) for b in plan.scratch]
    return scratch, [_launch_facts(launch, names) for launch in plan.launches]


def _launch_facts(launch: Launch, names: Mapping[str, str]) -> tuple[str, ...]:
    expressions = (*launch.grid, *launch.block, launch.shared_bytes, *launch.arguments)
    return names.get(launch.kernel, launch.kernel), *(replace_words(e.text, names) for e in expressions)


def _same_code(kernel: DressedKernel, judged_ptx: str, compile_source: Compile) -> bool:
    if not kernel.kernels:
        return without_comments(kernel.kept).split() == without_comments(kernel.judged).split()
    compiled = compile_source(kernel.kept)
    if compiled.ptx is None:
        return False
    return named_code(compiled.ptx, {new: old for old, new in kernel.kernels.items()}) == named_code(
        judged_ptx, {}
    )


def named_code(ptx: str, kernels: Mapping[str, str]) -> str:
    """The code without places and names of variables, its kernels called as `kernels` says."""
    code = normalised_ptx(ptx)
    for found, name in kernels.items():
        code = re.sub(rf"(?<![\w$%.]){re.escape(found)}(?=(?:_param_\d+)?(?![\w$%.]))", name, code)
    return code
