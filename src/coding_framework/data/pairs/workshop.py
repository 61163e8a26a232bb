"""Everything that makes pairs, opened and closed together: a judge pool, a compiler, what is held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from coding_framework.config import JudgeConfig, SFTConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.pool import JudgePool, open_pool
from coding_framework.data.pair_records import (
    PAIR_KINDS,
    BuildOptimizerPrompt,
    BuildPrompt,
    PairKind,
    agent_of,
)
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.drafts import Family, families
from coding_framework.data.pairs.known import KnownFamily
from coding_framework.data.pairs.making import HitRates, MadePairs, OnSettled, Settle, Wanted, make_pairs
from coding_framework.data.pairs.same_program import Compile
from coding_framework.data.pairs.settling import PairSettler
from coding_framework.data.pairs.short_drafts import short_sources
from coding_framework.records import AgentRole, Task

OpenHeldOut = Callable[[Compile], HeldOut]
"""What is held out, once there is a compiler."""


@dataclass(frozen=True)
class Workshop:
    """An open pool with what is made in it."""

    pool: JudgePool
    settler: PairSettler
    tasks: Sequence[Task]
    seed: int
    agents: Collection[AgentRole]
    known: tuple[KnownFamily, ...] = ()
    """Kernels that sources bring."""
    with_templates: bool = True
    """Whether the tasks are the catalogue's, and the templates are drawn from."""

    @cached_property
    def families(self) -> tuple[Family | KnownFamily, ...]:
        """The tasks and the templates by family, less what is held out; then what sources bring."""
        if not self.with_templates:
            return self.known
        drawn = families(self.tasks, held_out=self.settler.held_out, kinds=kinds_of(self.agents))
        return (*drawn, *self.known)

    def wanted(self, sft: SFTConfig) -> list[Wanted]:
        """What the settings ask for: so many short ones in all, or so many of each family."""
        if sft.pairs is None:
            return [(family, sft.pairs_of_a_family) for family in self.families]
        known = self._known(sft.pairs // 2 if self.with_templates else sft.pairs)
        left = sft.pairs - sum(count for _, count in known) if self.with_templates else 0
        return [*known, *short_sources(self.tasks, self.settler.held_out, left, self.agents)]

    def _known(self, most: int) -> list[Wanted]:
        """Of each family that a source brings as many as of others, no more than it has kernels for."""
        wanted: list[Wanted] = []
        for place, family in enumerate(self.known):
            share = math.ceil((most - sum(count for _, count in wanted)) / (len(self.known) - place))
            wanted.append((family, min(share, family.most)))
        return [(family, count) for family, count in wanted if count]

    def make(
        self, wanted: Sequence[Wanted], on_settled: OnSettled | None = None, settle: Settle | None = None
    ) -> MadePairs:
        """Judged pairs; `settle` may know some from an earlier run."""
        return make_pairs(
            wanted,
            self.seed,
            settle or self.settler.settle,
            workers=self.pool.config.num_workers + 1,
            on_settled=on_settled,
        )

    @property
    def hit_rates(self) -> HitRates:
        """So far."""
        return HitRates(
            judged_in_full=self.pool.num_judged,
            shared=self.pool.num_shared,
            remembered=self.pool.num_remembered,
            compiled=self.settler.num_compiled,
            from_cache=self.settler.num_from_cache,
        )


@contextmanager
def open_workshop(
    config: JudgeConfig,
    tasks: Sequence[Task],
    exclude: Collection[str] | OpenHeldOut,
    seed: int,
    build_prompt: BuildPrompt,
    build_optimizer_prompt: BuildOptimizerPrompt,
    *,
    agents: Collection[AgentRole] = ("generator", "optimizer"),
    known: Sequence[KnownFamily] = (),
    with_templates: bool = True,
) -> Iterator[Workshop]:
    """`tasks` and the templates, less what is held out: `exclude` and the held-out families; and `known`."""
    settings = CompilerSettings.for_judge(config).model_copy(update={"workers": 1})
    with CUDACompiler(settings) as compiler, open_pool(config) as pool:
        held_out = exclude(compiler.compile) if callable(exclude) else HeldOut(exclude, compiler.compile)
        settler = PairSettler(pool, compiler.compile, build_prompt, build_optimizer_prompt, held_out)
        yield Workshop(pool, settler, tasks, seed, agents, tuple(known), with_templates)


def kinds_of(agents: Collection[AgentRole]) -> frozenset[PairKind]:
    """The pairs whose answers are theirs."""
    return frozenset(kind for kind in PAIR_KINDS if agent_of(kind) in agents)
