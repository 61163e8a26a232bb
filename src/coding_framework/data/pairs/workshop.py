"""Everything that makes pairs, opened and closed together: a judge pool, a compiler, what is held out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from coding_framework.config import JudgeConfig, SFTConfig
from coding_framework.cuda.compiler import CompilerSettings, CUDACompiler
from coding_framework.cuda.pool import JudgePool, open_pool
from coding_framework.data.pair_records import PAIR_KINDS, BuildOptimizerPrompt, BuildPrompt, agent_of
from coding_framework.data.pairs.contamination import HeldOut
from coding_framework.data.pairs.drafts import Family, families
from coding_framework.data.pairs.making import HitRates, MadePairs, OnSettled, Settle, Wanted, make_pairs
from coding_framework.data.pairs.settling import PairSettler
from coding_framework.data.pairs.short_drafts import short_sources
from coding_framework.records import AgentRole, Task


@dataclass(frozen=True)
class Workshop:
    """An open pool with what is made in it."""

    pool: JudgePool
    settler: PairSettler
    tasks: Sequence[Task]
    seed: int
    agents: Collection[AgentRole]

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The tasks and the templates by family, less what is held out."""
        kinds = frozenset(kind for kind in PAIR_KINDS if agent_of(kind) in self.agents)
        return families(self.tasks, held_out=self.settler.held_out, kinds=kinds)

    def wanted(self, sft: SFTConfig) -> list[Wanted]:
        """What the settings ask for: so many short ones in all, or so many of each family."""
        if sft.pairs is not None:
            return short_sources(self.tasks, self.settler.held_out, sft.pairs, self.agents)
        return [(family, sft.pairs_per_family) for family in self.families]

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
    exclude: Collection[str],
    seed: int,
    build_prompt: BuildPrompt,
    build_optimizer_prompt: BuildOptimizerPrompt,
    *,
    agents: Collection[AgentRole] = ("generator", "optimizer"),
) -> Iterator[Workshop]:
    """`tasks` and the templates, less what is held out: `exclude` and the held-out families."""
    settings = CompilerSettings.for_judge(config).model_copy(update={"workers": 1})
    with CUDACompiler(settings) as compiler, open_pool(config) as pool:
        held_out = HeldOut(exclude, compiler.compile)
        settler = PairSettler(pool, compiler.compile, build_prompt, build_optimizer_prompt, held_out)
        yield Workshop(pool, settler, tasks, seed, agents)
