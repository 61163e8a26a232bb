"""What the benchmarks of the judge found."""

from __future__ import annotations

from pydantic import Field

from coding_framework.records import Gate, Record, TimeKind


class LoadInlineComparison(Record):
    """One kernel compiled by us and as a torch extension, in the same run."""

    load_inline_s: float | None = Field(default=None, gt=0)
    """Time of torch's `load_inline`; None where it is not available."""
    kernel_s: float | None = Field(default=None, gt=0)
    """Time of the same kernel under the `kernel` contract, cold cache, warm compiler process."""
    extension_s: float | None = Field(default=None, gt=0)
    """Time of the same source as an `extension`, against our light header."""
    extension_header: str = ""
    """Which header the extension was compiled against: the light one, or torch's own."""
    missing: tuple[str, ...] = ()
    """What could not be measured here, and why."""

    @property
    def kernel_ratio(self) -> float | None:
        """How many times faster a `kernel` compiles."""
        return self.load_inline_s / self.kernel_s if self.load_inline_s and self.kernel_s else None

    @property
    def extension_ratio(self) -> float | None:
        """How many times faster an `extension` compiles."""
        return self.load_inline_s / self.extension_s if self.load_inline_s and self.extension_s else None


class CompileFigures(Record):
    """The compiler service alone."""

    num_compiles: int = Field(ge=0)
    """Different sources, none of whose code repeats."""
    workers: int = Field(ge=1)
    """Compiler processes."""
    cold_per_s: float = Field(ge=0)
    """With an empty cache; starting the processes is not counted."""
    cached_per_s: float = Field(ge=0)
    """The same sources again."""
    latency_ms: float = Field(ge=0)
    """Median of one compilation at a time, cold."""
    caller_cpu_ms: float = Field(ge=0)
    """CPU time of the asking process for one cold compilation: what does not spread over cores."""


class JudgeFigures(Record):
    """Whole judgements."""

    num_judgements: int = Field(ge=0)
    """Different kernels."""
    workers: int = Field(ge=1)
    """Judged at the same time."""
    cold_per_s: float = Field(ge=0)
    """With an empty compile cache and no verdict known."""
    cached_per_s: float = Field(ge=0)
    """The same candidates judged in full again, their compilations cached."""
    remembered_per_s: float = Field(ge=0)
    """The same again, answered from the pool's memory."""
    latency_s: float = Field(ge=0)
    """Mean time of one judgement on its lane, cold."""
    caller_cpu_ms: float = Field(ge=0)
    """CPU time of the asking process for one cold judgement."""
    gate_shares: dict[Gate, float]
    """Share of the judging time spent in each gate, cold."""
    verdicts: dict[str, int]
    """What came out: honest kernels pass."""
    time_kind: TimeKind | None
    """Whether times were measured or modelled."""


class BenchJudgeResult(Record):
    """Everything `cuda-rl bench judge` prints, measured in one run."""

    cores: int = Field(ge=1)
    """Cores this process may use."""
    device: str
    """What ran the kernels."""
    architecture: str
    """What was compiled for."""
    compiling: CompileFigures
    """The compiler service."""
    judging: JudgeFigures
    """Whole judgements."""
    comparison: LoadInlineComparison
    """Beside torch's own way."""
    duration_s: float = Field(ge=0)
    """Of the whole run."""


class MemorySample(Record):
    """The size of everything that belongs to a run, while nothing is being judged."""

    num_judgements: int = Field(ge=0)
    """Judged so far."""
    host_bytes: int = Field(ge=0)
    """Resident memory of this process and all that it started."""
    num_processes: int = Field(ge=1)
    """How many these are."""
    gpu_bytes: int | None = Field(default=None, ge=0)
    """Memory in use on the GPU; None where there is none."""


class SoakResult(Record):
    """A long run with hostile candidates among honest ones."""

    num_asked: int = Field(ge=0)
    """Candidates given to the pool."""
    num_verdicts: int = Field(ge=0)
    """Evaluations that came back."""
    num_hostile: int = Field(ge=0)
    """Candidates that hang, crash, or touch what is not theirs."""
    num_hostile_passed: int = Field(ge=0)
    """Hostile ones that passed."""
    num_honest_failed: int = Field(ge=0)
    """Honest ones that did not."""
    honest_failures: tuple[str, ...] = ()
    """What was said of the first of those."""
    num_faults: int = Field(ge=0)
    """Answers lost to faults of the judge, and asked for again."""
    verdicts: dict[str, int]
    """How many of each."""
    samples: tuple[MemorySample, ...]
    """After each batch."""
    leaked_processes: tuple[str, ...]
    """Processes that are still there after the pool was closed."""
    leaked_descriptors: int
    """Files and sockets of this process that stayed open."""
    host_growth_bytes: int
    """From the third quarter of the run to its last, least against least."""
    gpu_growth_bytes: int | None
    """The same on the GPU."""
    duration_s: float = Field(ge=0)
    """Wall-clock time."""

    @property
    def complaints(self) -> tuple[str, ...]:
        """What went wrong; empty for a clean run."""
        found = []
        if self.num_verdicts != self.num_asked:
            found.append(f"{self.num_asked - self.num_verdicts} verdicts are missing")
        if self.num_hostile_passed or self.num_honest_failed:
            found.append(
                f"{self.num_hostile_passed} hostile candidates passed and {self.num_honest_failed} honest "
                "ones did not"
            )
        if self.leaked_processes:
            found.append(f"processes are left: {', '.join(self.leaked_processes)}")
        if self.leaked_descriptors > 0:
            found.append(f"{self.leaked_descriptors} descriptors are left open")
        return (*found, *self._growth_complaints())

    def _growth_complaints(self) -> tuple[str, ...]:
        kinds = (("host", self.host_growth_bytes), ("GPU", self.gpu_growth_bytes or 0))
        return tuple(
            f"{kind} memory grew by {grown / 2**20:.0f} MiB"
            for kind, grown in kinds
            if grown > MAX_GROWTH_BYTES
        )


MAX_GROWTH_BYTES = 64 * 2**20
"""Growth of a run of any length that counts as none: allocators keep some of what they were given."""


class BenchPairsResult(Record):
    """Everything `cuda-rl bench pairs` prints, measured in one run."""

    cores: int = Field(ge=1)
    """Cores this process may use."""
    workers: int = Field(ge=1)
    """Lanes of the judge."""
    num_drafts: int = Field(ge=0)
    """Drafts that were settled."""
    num_kept: int = Field(ge=0)
    """Of these, pairs that may be trained on."""
    by_tier: dict[int, int]
    """Kept pairs of each tier."""
    by_kind: dict[str, int]
    """Kept pairs that write, repair and optimise."""
    by_family: dict[str, int]
    """Kept pairs of each family."""
    rejected: dict[str, int]
    """Dropped drafts by reason."""
    seconds: float = Field(ge=0)
    """Wall-clock time; starting the processes is not counted."""
    cpu_s: float = Field(ge=0)
    """User and system time of all processes over the same time."""
    judged_in_full: int = Field(ge=0)
    """Candidates that went through the gates, broken ones up to the gate that stopped them."""
    shared: int = Field(ge=0)
    """Candidates with the PTX and the plan of one that had passed: compiled, not run."""
    remembered: int = Field(ge=0)
    """Candidates whose very text had been judged."""
    compiled: int = Field(ge=0)
    """Compilations asked for."""
    from_cache: int = Field(ge=0)
    """Of these, found in the compile cache, which was empty at the start."""
    time_kind: TimeKind | None
    """Whether times were measured or modelled."""

    @property
    def kept_per_minute(self) -> float:
        return 60.0 * self.num_kept / self.seconds if self.seconds else 0.0

    @property
    def cpu_s_per_pair(self) -> float:
        """CPU time of all processes for one kept pair, what was dropped included."""
        return self.cpu_s / self.num_kept if self.num_kept else 0.0

    @property
    def shared_rate(self) -> float:
        """Share of the candidates that were not judged in full."""
        asked = self.judged_in_full + self.shared + self.remembered
        return (self.shared + self.remembered) / asked if asked else 0.0


class RepeatedKernel(Record):
    """One kernel that was judged twice."""

    name: str
    """`TASK.VARIANT`."""
    medians_us: tuple[float, float] | None = None
    """Of both runs; None where one gave no time."""
    intervals_us: tuple[tuple[float, float], tuple[float, float]] | None = None
    """What each run states for its median."""
    failure: str = ""
    """Why there is no time."""

    @property
    def counts(self) -> bool:
        """Whether it takes long enough to be compared."""
        return self.medians_us is not None and min(self.medians_us) > MIN_REPEATED_US

    @property
    def difference(self) -> float:
        """Between the medians, as a share of the smaller."""
        return max(self.medians_us) / min(self.medians_us) - 1 if self.medians_us else 0.0

    @property
    def covered(self) -> bool:
        """Whether the interval of each run holds the median of the other."""
        if self.medians_us is None or self.intervals_us is None:
            return False
        others = zip(self.intervals_us, reversed(self.medians_us), strict=True)
        return all(low <= median <= high for (low, high), median in others)


class RepeatResult(Record):
    """Every kernel of the catalogue, judged twice."""

    kernels: tuple[RepeatedKernel, ...]
    """In the catalogue's order."""
    duration_s: float = Field(ge=0)
    """Wall-clock time."""

    @property
    def counted(self) -> tuple[RepeatedKernel, ...]:
        """Those long enough to be compared, the least alike first."""
        long = [kernel for kernel in self.kernels if kernel.counts]
        return tuple(sorted(long, key=lambda kernel: -kernel.difference))

    @property
    def complaints(self) -> tuple[str, ...]:
        """What went wrong; empty where every pair of runs agrees."""
        found = [f"{kernel.name} gave no time: {kernel.failure}" for kernel in self.kernels if kernel.failure]
        for kernel in self.counted:
            if kernel.difference > MAX_DIFFERENCE:
                found.append(f"{kernel.name}: the medians of two runs differ by {kernel.difference:.1%}")
            if not kernel.covered:
                found.append(f"{kernel.name}: one run's interval does not hold the other's median")
        if not self.counted:
            found.append(f"no kernel takes over {MIN_REPEATED_US:g} µs here: nothing was compared")
        return tuple(found)


MIN_REPEATED_US = 20.0
"""Below this the clock's step and the launch are a large part of a kernel's time."""
MAX_DIFFERENCE = 0.03
"""How far the medians of two runs of the same kernel may be apart."""
