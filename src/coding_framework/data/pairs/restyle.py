"""One kernel of the catalogue in another dress: names, layout, blocks, words.

A *structure* is what may change the compiled code: which kernel, its block size, a few rewrites. A
*dress* on it changes names, layout and words, and as a rule not the PTX: kernels of one structure
share a verdict. Guarantees: everything follows from the seeds; `judged` is the text under the
original's names and `kept` the same text under the new ones, with nothing but kernel names and plan
words between them (`same_program.py` proves it for each pair).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from coding_framework.data.pairs.block_sizes import block_variants
from coding_framework.data.pairs.layout import draw_layout, lay_out
from coding_framework.data.pairs.naming import new_argument_names, new_kernel_name, new_name
from coding_framework.data.pairs.renamed_task import renamed_task, signature_of
from coding_framework.data.pairs.rewriting import DRESSING_REWRITES, STRUCTURAL_REWRITES
from coding_framework.data.pairs.source_edit import (
    WORD,
    is_plan_line,
    kernel_names,
    local_names,
    rename_code,
    rename_plan,
    scratch_names,
    without_remarks,
    words_of,
)
from coding_framework.data.pairs.wording import draw_wording
from coding_framework.records import Task

NAIVE = "naive"


@dataclass(frozen=True)
class Structure:
    """A kernel as the compiler will see it, names aside."""

    task: Task
    """Of the catalogue."""
    variant: str
    """`naive`, or the variant's name."""
    source: str
    """With its block size and rewrites."""


@dataclass(frozen=True)
class Dress:
    """The names under which one task is asked for and answered."""

    kernels: Mapping[str, str]
    """Kernels that have another name."""
    arguments: Mapping[str, str]
    """Arguments of the task that have another name."""


@dataclass(frozen=True)
class DressedKernel:
    """One text twice: as it is kept, and under the original's names."""

    kept: str
    judged: str
    kernels: Mapping[str, str]
    """Kernel names: judged → kept."""


def draw_structure(rng: random.Random, task: Task, variant: str, source: str) -> Structure:
    """The kernel as it is, or for another block size, or with some statements written in another way."""
    chosen = source
    others = block_variants(source)
    if others and rng.random() < 0.6:
        chosen = rng.choice(others)
    for rewrite, share in STRUCTURAL_REWRITES:
        if rng.random() < share:
            chosen = rewrite(rng, chosen)
    return Structure(task, variant, chosen)


def draw_dress(rng: random.Random, task: Task, *sources: str) -> Dress:
    """Names that are new to all these sources; the task's own ones in some of the cases."""
    taken = frozenset().union(*(words_of(source) for source in sources)) | set(task.default_arguments)
    arrays = [spec.name for spec in (*task.inputs, *task.outputs)]
    arguments: dict[str, str] = {}
    if rng.random() < 0.6:
        arguments = new_argument_names(rng, arrays, task.dimensions, taken)
    main = task_kernel(task)
    kernels = {main: new_kernel_name(rng, main, taken)} if rng.random() < 0.5 else {}
    return Dress(kernels, arguments)


def task_kernel(task: Task) -> str:
    """The name in the task's signature."""
    tail = task.prompt.rpartition("__global__ void ")[2]
    return tail.partition("(")[0].strip() or task.name


def dress_kernel(rng: random.Random, structure: Structure, dress: Dress) -> DressedKernel:
    """The structure under the dress's names, in a drawn layout, with locals of its own."""
    source = structure.source
    taken = set(words_of(source)) | set(dress.arguments.values()) | set(dress.kernels.values())
    taken |= set(structure.task.default_arguments)
    names = _local_names(rng, structure, dress, taken)
    scratch = {name: names[name] for name in scratch_names(source) if name in names}
    for rewrite, share in DRESSING_REWRITES:
        if rng.random() < share:
            source = rewrite(rng, source)
    layout = draw_layout(rng)
    judged = rename_plan(lay_out(rename_code(_quiet(source, names), names), layout), scratch)
    kernels = {old: new for old, new in dress.kernels.items() if old in kernel_names(source)}
    kept = rename_plan(rename_code(judged, kernels), {**dress.arguments, **kernels})
    return DressedKernel(kept=kept, judged=judged, kernels=kernels)


def _local_names(rng: random.Random, structure: Structure, dress: Dress, taken: set[str]) -> dict[str, str]:
    """Parameters are called as the task's arguments are; other locals have new names now and then."""
    names: dict[str, str] = {}
    changed = rng.choice((0.0, 0.3, 0.8))
    for old in local_names(structure.source):
        if old in dress.arguments:
            names[old] = dress.arguments[old]
        elif old not in structure.task.default_arguments and rng.random() < changed:
            names[old] = new_name(rng, old, taken)
            taken.add(names[old])
    return names


def _quiet(source: str, names: Mapping[str, str]) -> str:
    """Without remarks that speak of a name that is no more."""
    remarks = [line for line in source.split("\n") if "//" in line and not is_plan_line(line)]
    spoken = {word for line in remarks for word in WORD.findall(line.partition("//")[2])}
    return without_remarks(source) if spoken & set(names) else source


def dress_task(rng: random.Random, structure: Structure, dress: Dress, *, hints: bool) -> Task:
    """The task as it is asked for when `structure` is the answer."""
    task = structure.task
    kernel = dress.kernels.get(task_kernel(task), task_kernel(task))
    way = "" if structure.variant == NAIVE else structure.variant
    signature = signature_of(task, kernel, dress.arguments)
    prompt = draw_wording(
        rng,
        task,
        signature,
        dress.arguments,
        source=structure.source if hints else "",
        way=way if hints else "",
    )
    return renamed_task(task, dress.kernels, dress.arguments, prompt)
