"""Everything that makes pairs, opened and closed together: a judge pool, a compiler, what is held out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from coding_framework.config import JudgeConfig
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
from coding_framework.data.pairs.drafts import families
from coding_framework.data.pairs.known import KnownFamily
from coding_framework.data.pairs.making import (
    AnyFamily,
    HitRates,
    MadePairs,
    OnSettled,
    Settle,
    make_pairs,
)
from coding_framework.data.pairs.same_program import Compile
from coding_framework.data.pairs.settling import PairSettler
from coding_framework.records import AgentRole, Task

OpenHeldOut = Callable[[Compile], HeldOut]
"""What is held out, once there is a compiler."""


@dataclass(frozen=True)
class Workshop:
    """An open pool with what is made in it."""

    pool: JudgePool
    settler: PairSettler
    families: tuple[AnyFamily, ...]
    seed: int

    def make(
        self, per_family: int, on_settled: OnSettled | None = None, settle: Settle | None = None
    ) -> MadePairs:
        """Judged pairs of every family; `settle` may know some from an earlier run."""
        return make_pairs(
            self.families,
            per_family,
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
) -> Iterator[Workshop]:
    """`tasks` and the templates, less what is held out: `exclude` and the held-out families; and `known`.

    Without tasks the templates are left out too.
    """
    kinds = kinds_of(agents)
    settings = CompilerSettings.for_judge(config).model_copy(update={"workers": 1})
    with CUDACompiler(settings) as compiler, open_pool(config) as pool:
        held_out = exclude(compiler.compile) if callable(exclude) else HeldOut(exclude, compiler.compile)
        settler = PairSettler(pool, compiler.compile, build_prompt, build_optimizer_prompt, held_out)
        drawn = families(tasks, held_out=held_out, kinds=kinds) if tasks else ()
        yield Workshop(pool, settler, (*drawn, *known), seed)


def kinds_of(agents: Collection[AgentRole]) -> frozenset[PairKind]:
    """The pairs whose answers are theirs."""
    return frozenset(kind for kind in PAIR_KINDS if agent_of(kind) in agents)
