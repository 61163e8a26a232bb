"""Drafts over all tiers and families: which task, which kernel, which kind of pair, in which dress.

Guarantees: the draft of a given number follows from the seed, the family and that number alone; tasks
that are held out are left out before anything is drawn. Ten drafts in a row are a *cluster*: one task,
one or two structures of its kernels, ten dresses and requests. A cluster's kernels compile to the same
code, so judging it costs one or two full judgements and otherwise compilations.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from coding_framework.data.pair_records import PAIR_KINDS, PairKind
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.material import (
    OPERATIONS,
    Material,
    Operation,
    catalogue_material,
    synthetic_material,
)
from coding_framework.data.pairs.mistakes import draw_mistake
from coding_framework.data.pairs.restyle import (
    NAIVE,
    DressedKernel,
    Structure,
    draw_dress,
    draw_structure,
    dress_kernel,
    dress_task,
)
from coding_framework.data.templates.catalogue_keys import formula_key
from coding_framework.errors import UserError
from coding_framework.records import Task

CLUSTER: tuple[PairKind, ...] = (
    *("write", "repair", "write", "optimise", "write"),
    *("repair", "write", "optimise", "write", "repair"),
)
"""The kinds of a cluster's pairs, in order."""


@dataclass(frozen=True)
class CatalogueDraft:
    """A pair that was not judged yet."""

    kind: PairKind
    task: Task
    """As it is asked for: names and words of its own."""
    original: Task
    """Under whose names it is judged."""
    answer: DressedKernel
    shown: DressedKernel | None
    """The kernel in the prompt: broken, or slower."""
    structure: str
    """The same for drafts whose kernels should compile to the same code."""
    variant: str
    """Which kernel the answer is."""
    formula: str
    """Key of the formula."""
    mistake: str = ""
    """What is wrong with the kernel in the prompt."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What a verdict is remembered by."""
        shown = self.shown.kept if self.shown is not None else ""
        return (self.kind, self.original.name, self.task.prompt, self.answer.kept, shown)


@dataclass(frozen=True)
class Family:
    """Tasks and template operations of one family that may be trained on."""

    name: str
    members: tuple[Task | Operation, ...]
    held_out: HeldOut
    kinds: frozenset[PairKind] = frozenset(PAIR_KINDS)
    """Which are drafted."""

    def cluster(self, seed: int, number: int) -> Iterator[CatalogueDraft]:
        """The ten drafts of one cluster."""
        rng = random.Random(f"{seed}/{self.name}/{number}")
        material = self._material(rng, number)
        if material is None:
            return
        visit = number // len(self.members)
        answer, slow, fast = _structures(rng, material, visit)
        for kind in CLUSTER:
            if kind == "optimise" and fast is not None and slow is not None:
                draft = _draft(rng, "optimise", fast, slow, material.formula)
            else:
                draft = _draft(rng, "write" if kind == "optimise" else kind, answer, None, material.formula)
            if draft.kind in self.kinds:
                yield draft

    def is_exhausted(self, number: int) -> bool:
        """Never: there is always another dress."""
        return False

    def _material(self, rng: random.Random, number: int) -> Material | None:
        member = self.members[number % len(self.members)]
        if isinstance(member, Task):
            return catalogue_material(member)
        return synthetic_material(rng, member, self.held_out)


def families(
    tasks: Sequence[Task],
    exclude: Collection[str] = (),
    held_out: HeldOut | None = None,
    kinds: frozenset[PairKind] = frozenset(PAIR_KINDS),
) -> tuple[Family, ...]:
    """Everything that may be drafted from these tasks and from the templates, by family."""
    kept_out = held_out or HeldOut(exclude)
    members: dict[str, list[Task | Operation]] = {}
    for task in tasks:
        if kept_out.allows(task, formula_key(task.name)):
            members.setdefault(task.family, []).append(task)
    for operation in OPERATIONS:
        if operation.family not in kept_out.families and synthetic_material(
            random.Random(0), operation, kept_out
        ):
            members.setdefault(operation.family, []).append(operation)
    if not members:
        raise UserError("every task and every template is held out: nothing is left to make pairs of")
    return tuple(Family(name, tuple(found), kept_out, kinds) for name, found in sorted(members.items()))


def draft_pairs(chosen: Iterable[Family], seed: int) -> Iterator[CatalogueDraft]:
    """A cluster of each family in turn, without end."""
    listed, number = list(chosen), 0
    while True:
        for family in listed:
            yield from family.cluster(seed, number)
        number += 1


def _structures(
    rng: random.Random, material: Material, visit: int
) -> tuple[Structure, Structure | None, Structure | None]:
    """The answer of the cluster, and where there are two kernels a slow and a fast one."""
    kernels = material.kernels
    name, source = kernels[visit % len(kernels)]
    answer = draw_structure(rng, material.task, name, source)
    if len(kernels) == 1:
        return answer, None, None
    if name == NAIVE:
        other, better = kernels[1 + visit // len(kernels) % (len(kernels) - 1)]
        return answer, answer, Structure(material.task, other, better)
    return answer, Structure(material.task, *kernels[0]), answer


def _draft(
    rng: random.Random, kind: PairKind, answer: Structure, slower: Structure | None, formula: str
) -> CatalogueDraft:
    sources = [answer.source, *([slower.source] if slower else [])]
    dress = draw_dress(rng, answer.task, *sources)
    kernel = dress_kernel(rng, answer, dress)
    shown, mistake = None, ""
    if slower is not None:
        shown = dress_kernel(rng, slower, dress)
    elif kind == "repair":
        mistake, broken = draw_mistake(rng, kernel.kept)
        shown = DressedKernel(kept=broken, judged=broken, kernels={})
    words = "\0".join((answer.task.name, *sources))
    return CatalogueDraft(
        kind=kind,
        task=dress_task(rng, answer, dress, hints=kind == "write"),
        original=answer.task,
        answer=kernel,
        shown=shown,
        structure=hashlib.sha256(words.encode()).hexdigest(),
        variant=answer.variant,
        formula=formula,
        mistake=mistake,
    )
