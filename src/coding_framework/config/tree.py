"""The one config tree. Unknown keys are refused; nonsense across fields is refused before any work."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from coding_framework.config.algorithms import CorrectionConfig, DAPOConfig, KLBandConfig, PPOConfig
from coding_framework.config.curriculum import CurriculumConfig
from coding_framework.config.monitoring import MonitoringConfig
from coding_framework.config.reward import RewardConfig
from coding_framework.records.base import Record
from coding_framework.records.conversation import AgentRole
from coding_framework.records.cores import usable_cores

DEFAULT_SFT_STEPS = 400
MOST_PASSES = 2
"""Over the pairs of SFT: a third one mostly learns them by heart."""


class RunConfig(Record):
    """Where a run lives."""

    name: str = "train"
    """Suffix of the run folder's name."""
    output_dir: Path = Path("runs")
    """Folder that holds the run folders."""
    seed: int = 17
    """Seed of everything random that is not secret."""


class ModelConfig(Record):
    """Which model is trained."""

    name: str = "smollm2-135m-instruct"
    """An embedded model (`cuda-rl models list`), a local folder, or a Hugging Face name."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format of products during RL and sampling; `auto`: bfloat16 with GPUs, float32 without.
    Weights that are trained are kept in float32 either way: in bfloat16 the small changes of RL vanish."""
    attention: Literal["auto", "flash_attention_2", "packed", "sdpa"] = "auto"
    """How rows are attended to in training. `packed` joins them without padding (torch's own kernels, no
    further package); `auto`: flash-attn where it is installed, else `packed`, without GPUs `sdpa`. The update
    of RL without GPUs joins rows in any case."""


class JudgeConfig(Record):
    """How candidates are judged."""

    executor: Literal["emulator", "gpu", "auto"] = "auto"
    """What runs the kernels; `auto` is the GPU where there is one, else the emulator: every time says whether
    it was measured or modelled. In training `auto` is the GPU if training uses one."""
    gpu_indices: tuple[Annotated[int, Field(ge=0)], ...] | None = Field(default=None, min_length=1)
    """Devices of the driver; the workers are spread over them. None: the first one, in a training those that
    `rl.gpus.judge` gives. On a Ray cluster `cluster_gpus` says how many, and Ray which."""
    gpu_run_timeout_s: float = Field(default=3, gt=0)
    """Limit of all checks together, and of all timed calls, on a GPU, where honest ones take microseconds."""
    timed_launches: int = Field(default=50, ge=10, le=1000)
    """Cold-L2 launches behind a measured median."""
    torch_baselines: tuple[Literal["eager", "compile"], ...] = ()
    """On a GPU: also time PyTorch on the task, as it is and through `torch.compile` (once a task)."""
    profile: bool = False
    """On a GPU: also run Nsight Compute on candidates that pass (seconds each)."""
    sandbox: Literal["auto", "no_docker", "docker", "bubblewrap", "process"] = "auto"
    """Where host code (contracts `extension` and `module`) runs; `auto` takes the first that works,
    `no_docker` the first of the others."""
    docker_image: str = "coding-framework-sandbox"
    """Image of the Docker sandbox."""
    min_own_kernel_share: float = Field(default=0.07, ge=0, le=1)
    """Of host code: least share of the device time in kernels of its own; the library may do the rest."""
    compile_flags: tuple[str, ...] = ()
    """Passed to the compiler as they are, e.g. `--use_fast_math`."""
    architecture: str = Field(default="auto", pattern=r"^(auto|sm_\d+a?)$")
    """GPU architecture to compile for; `auto` asks the driver, and is `sm_90` where there is none."""
    compile_timeout_s: float = Field(default=30, gt=0)
    """Limit of one compilation."""
    compile_memory_bytes: int = Field(default=8 * 2**30, gt=0)
    """Memory limit of a compiler process."""
    run_timeout_s: float = Field(default=10, gt=0)
    """Limit of one run of a candidate on one shape."""
    run_memory_bytes: int = Field(default=6 * 2**30, gt=0)
    """Memory limit of an executor process."""
    total_timeout_s: float = Field(default=30, gt=0)
    """Limit of all runs of one candidate together; kernels on a GPU have `gpu_run_timeout_s` alone."""
    workers: int | None = Field(default=None, ge=1)
    """Candidates judged at the same time; None: one for each core, sixteen at most."""
    pool: Literal["local", "ray"] = "local"
    """Where: processes of this machine, or actors on the machines of a Ray cluster."""
    cluster_gpus: int | None = Field(default=None, ge=1)
    """With `pool = "ray"`: GPUs of the cluster that judge, an actor on each; None: every one, in a training
    those that `rl.gpus.judge` gives."""
    strict_memory_model: bool = True
    """On the emulator: whether what CUDA leaves undefined is a verdict although a card mostly lets it pass:
    lanes of a warp that exchange data without `__syncwarp`, masks that do not name those who take part, and
    shuffles from lanes that take no part. False: such things are findings beside the verdict."""
    secret: str | None = None
    """Fixes the random inputs, for repeating a verdict; None: fresh ones, and in a training without a GPU
    such that follow from the run's seed and the candidate's code, so that a resumed run repeats itself."""

    @property
    def num_workers(self) -> int:
        """`workers`, or what fits this machine."""
        return self.workers or max(min(usable_cores(), 16), len(self.gpu_indices or ()))

    @property
    def gpu_index(self) -> int:
        """The device of a single worker."""
        return self.gpu_indices[0] if self.gpu_indices else 0

    @property
    def by_gpu(self) -> tuple[JudgeConfig, ...]:
        """One config for each device that is named, or this one."""
        named = self.gpu_indices or ()
        return tuple(self.model_copy(update={"gpu_indices": (device,)}) for device in named) or (self,)

    @model_validator(mode="after")
    def _devices_of_one_pool(self) -> JudgeConfig:
        if self.gpu_indices is not None and len(set(self.gpu_indices)) < len(self.gpu_indices):
            raise ValueError("judge.gpu_indices names a device twice")
        if self.workers is not None and self.workers < len(self.gpu_indices or ()):
            raise ValueError(
                f"judge.workers is {self.workers}, but judge.gpu_indices names {len(self.gpu_indices or ())} "
                "devices: each needs a worker at least"
            )
        if self.gpu_indices is not None and self.pool == "ray":
            raise ValueError(
                "judge.gpu_indices names devices of this machine, but with judge.pool=ray Ray hands them "
                "out: leave it out, judge.cluster_gpus says how many"
            )
        if self.cluster_gpus is not None and self.pool != "ray":
            raise ValueError("judge.cluster_gpus is for judge.pool=ray: name devices with judge.gpu_indices")
        return self


class ConversationConfig(Record):
    """The shape of an episode."""

    max_turns: int = Field(default=5, ge=1, le=20)
    """Generator turn plus optimizer turns."""
    discount: float = Field(default=0.9, ge=0, le=1)
    """Discount between turns."""
    early_stop_reward: float = Field(default=0.8, ge=0, le=1)
    """A turn that earns this much ends the episode."""
    max_prompt_tokens: int = Field(default=1024, ge=64)
    """Limit of a prompt."""
    max_response_tokens: int = Field(default=384, ge=16)
    """Limit of one answer."""
    tester: bool = False
    """Ask the tester for shapes on which a kernel that passed may fail, and judge it on them as well."""


class SFTConfig(Record):
    """The supervised warm start."""

    enabled: bool = True
    """Whether it runs."""
    pairs: int | None = Field(default=None, ge=1)
    """Judged pairs in all, short ones from the templates and `tasks.train`; None: `pairs_per_family`."""
    pairs_per_family: int | None = Field(default=None, ge=1)
    """Judged pairs of each task family, over all tiers, where `pairs` gives no total; None: 1,000, in a
    training as many as its steps use where these are fewer."""
    method: Literal["lora", "qlora", "full"] = "lora"
    """What learns: an adapter, an adapter of weights that are packed to 4 bits (needs a GPU; for cards that
    do not hold the model otherwise), or all weights (16 bytes of memory for each)."""
    steps: int | None = Field(default=None, ge=1)
    """Optimizer steps; None: 400, or two passes over the pairs where these are fewer."""
    epochs: float | None = Field(default=None, gt=0, le=MOST_PASSES)
    """Passes over the pairs instead of `steps`; a third one mostly learns them by heart."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Peak of a cosine schedule; None: 1e-3 for an adapter, a tenth of it for all weights."""
    warmup_steps: int = Field(default=5, ge=0)
    """Linear warm-up."""
    batch_size: int = Field(default=4, ge=1)
    """Pairs in one forward pass; where rows are packed, `batch_tokens` cuts the passes instead."""
    gradient_accumulation_steps: int = Field(default=1, ge=1)
    """So many times `batch_size` pairs in one step."""
    batch_tokens: int | None = Field(default=None, ge=64)
    """Tokens of one packed row, the unit of a forward pass; None: what the card holds. Without packed rows
    (`model.attention`) pairs stand in padded batches that compute their common beginning once."""
    checkpoint_activations: bool | None = None
    """Whether activations are computed twice instead of kept; None: if memory demands it."""
    workers: int | None = Field(default=None, ge=1)
    """Processes of this machine that share the pairs of each step, each with the whole model and a GPU of
    its own; without GPUs they share the cores. None: one for each GPU, else one."""
    lora_rank: int = Field(default=16, ge=1)
    """Rank of the adapters on all linear layers."""
    lora_alpha: int = Field(default=32, ge=1)
    """Scale of the adapters."""
    lora_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the adapters' input."""
    max_length: int = Field(default=1024, ge=64)
    """Longer pairs are left out and counted."""
    checkpoint_every: int = Field(default=25, ge=1)
    """Steps between checkpoints."""
    agents: tuple[AgentRole, ...] = Field(default=("generator", "optimizer"), min_length=1)
    """Whose pairs are used; there are none of the tester."""
    adapters: Literal["shared", "per_agent"] = "shared"
    """One adapter that all agents speak with, trained from all pairs; or one for each of `agents`, from its
    own pairs and with `steps` or `epochs` of its own."""

    @model_validator(mode="after")
    def _steps_or_epochs(self) -> SFTConfig:
        if self.steps is not None and self.epochs is not None:
            raise ValueError("sft.steps and sft.epochs both say how long to train: give one of them")
        return self

    @model_validator(mode="after")
    def _every_pair_fits_into_a_row(self) -> SFTConfig:
        if self.batch_tokens is not None and self.batch_tokens < self.max_length:
            raise ValueError("sft.batch_tokens is below sft.max_length: the longest pairs fit into no row")
        return self

    @model_validator(mode="after")
    def _agents_have_pairs(self) -> SFTConfig:
        if set(self.agents) == {"tester"}:
            raise ValueError("sft.agents names the tester alone, of which there are no pairs: name generator")
        if len(set(self.agents)) < len(self.agents):
            raise ValueError("sft.agents names an agent twice")
        return self

    @model_validator(mode="after")
    def _agents_have_adapters(self) -> SFTConfig:
        if self.adapters == "per_agent" and self.method == "full":
            raise ValueError("sft.adapters=per_agent trains adapters: set sft.method to lora or qlora")
        if self.adapters == "per_agent" and "tester" in self.agents:
            raise ValueError("sft.adapters=per_agent: there are no pairs of the tester to train it from")
        return self

    def num_steps(self, pairs: int) -> int:
        """Optimizer steps over so many pairs."""
        if self.steps is not None:
            return self.steps
        batches = (self.epochs or MOST_PASSES) * math.ceil(pairs / self.batch_size)
        steps = math.ceil(batches / self.gradient_accumulation_steps)
        return steps if self.epochs is not None else min(DEFAULT_SFT_STEPS, steps)

    @property
    def pairs_per_step(self) -> int:
        """Of all forward passes."""
        return self.batch_size * self.gradient_accumulation_steps

    @property
    def pairs_of_a_family(self) -> int:
        """`pairs_per_family`, or 1,000."""
        return self.pairs_per_family or 1000

    @property
    def peak_learning_rate(self) -> float:
        """`learning_rate`, or what fits the method."""
        return self.learning_rate or (1e-4 if self.method == "full" else 1e-3)


class GPUAllocation(Record):
    """How many GPUs of a machine each part has for itself; 0 shares the actor's, None is worked out by the
    plan. The cards are given out in the order of these fields. Without GPUs they are processes."""

    actor: int | None = Field(default=None, ge=1)
    """Workers of the trained model, under FSDP2."""
    reference: int | None = Field(default=None, ge=0)
    """The start model of the KL term, where all weights are trained."""
    rollout: int | None = Field(default=None, ge=0)
    """Engines that sample, a whole model on each card. They wait while the actor computes and keep their
    memory; with 0 there is one beside each worker of the actor."""
    judge: int | None = Field(default=None, ge=0)
    """The judge; with 0 it takes turns with the policy on one card, and nobody computes while it times."""


class RLConfig(Record):
    """Reinforcement learning through verl."""

    enabled: bool = True
    """Whether it runs."""
    algorithm: Literal["grpo", "dapo", "ppo"] = "grpo"
    """How a turn is credited: `grpo` (arXiv 2402.03300) against the other answers to the same task at the
    same turn, `dapo` likewise with what `rl.dapo` adds, `ppo` against a critic (`rl.ppo`)."""
    adapters: Literal["shared", "per_agent"] = "shared"
    """One policy that all agents speak with; or one for the generator, which learns from its first kernels,
    and then one for the optimizer, which goes on from what that one writes: each with `steps` of its own."""
    steps: int = Field(default=50, ge=1)
    """Policy updates, of each policy."""
    prompts_per_step: int = Field(default=4, ge=1, le=100_000)
    """Tasks sampled for one step."""
    group_size: int = Field(default=8, ge=1, le=1000)
    """Episodes of each task, compared with each other; with a critic there may be one alone."""
    epochs: int = Field(default=1, ge=1)
    """How often the turns of a step are gone through; ratios are to the policy before the first pass."""
    update_turns: int | None = Field(default=None, ge=1)
    """Turns of one optimizer step, about; None: all turns of the step make one."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Constant; an adapter bears ten times what full weights would."""
    kl_coef: float = Field(default=0.0, ge=0)
    """Weight of the KL term to the start model; 0 loads no reference model."""
    kl_band: KLBandConfig = KLBandConfig()
    """Lets the weight of the KL term follow the distance."""
    clip_low: float = Field(default=0.2, gt=0, lt=1)
    """Lower clip of the policy ratio."""
    clip_high: float = Field(default=0.28, gt=0)
    """Upper clip (a larger one keeps exploration alive)."""
    temperature: float = Field(default=0.9, gt=0)
    """Sampling temperature of rollouts."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of rollouts; below 1 what sampled is another distribution than the policy, so the policy is
    asked for its own log-probabilities before the update."""
    lora_rank: int = Field(default=16, ge=0)
    """Rank of the trained adapter; 0 trains all weights."""
    lora_alpha: int = Field(default=32, ge=1)
    """Scale of the adapter."""
    update_tokens: int | None = Field(default=None, ge=1)
    """Tokens in one forward pass of the update; None: what the memory holds, at least one longest row."""
    save_every: int = Field(default=5, ge=1)
    """Steps between checkpoints."""
    num_gpus: int | None = Field(default=None, ge=0)
    """GPUs to train on, on each machine; 0 trains on the CPU, None takes what the machine has."""
    gpus: GPUAllocation = GPUAllocation()
    """Who uses which of them."""
    ray_address: str | None = Field(default=None, min_length=1)
    """A running Ray cluster to train on, `auto` or HOST:PORT; None starts Ray on this machine. Every machine
    has to see the run folder and the model under the same path."""
    nodes: int = Field(default=1, ge=1)
    """Machines of that cluster that hold the actor, each with the cards that `gpus` gives."""
    rollout: Literal["auto", "vllm", "transformers"] = "auto"
    """What samples; `auto`: vLLM with GPUs, the transformers server without."""
    rollout_memory_share: float | None = Field(default=None, gt=0, lt=1)
    """Share of a card's memory that vLLM may take; None: by what else lives on the card."""
    rollout_cache_bytes: int | None = Field(default=None, ge=2**20)
    """Most memory of vLLM's cache of keys and values; None: `rollout_memory_share` of the card. It takes what
    the episodes of a step need and is told so beforehand: it probes no card that others use."""
    rollout_sleeps: bool | None = None
    """Whether vLLM gives its memory back during the update (waking can cost more than a step of a small
    model); None: only where the card would not hold both."""
    rollout_graphs: bool = True
    """Whether vLLM records CUDA graphs at its start: answers come faster, the start takes longer."""
    checkpoint_activations: bool | None = None
    """Whether the update computes activations twice instead of keeping them; None: if memory demands it."""
    dapo: DAPOConfig = DAPOConfig()
    """Of `rl.algorithm=dapo` alone."""
    ppo: PPOConfig = PPOConfig()
    """Of `rl.algorithm=ppo` alone."""
    correction: CorrectionConfig = CorrectionConfig()
    """Of answers that are off-policy."""
    keep_rows: bool = False
    """Whether the turns of each update are kept as they were trained on (`rl/rows/step_N.jsonl`): ids,
    log-probabilities, advantages, values."""

    @model_validator(mode="after")
    def _groups_have_members(self) -> RLConfig:
        if self.group_size < 2 and self.algorithm != "ppo":
            raise ValueError(
                f"rl.algorithm={self.algorithm} compares answers with each other: set rl.group_size to 2 or "
                "more"
            )
        return self

    @property
    def recomputes_log_probs(self) -> bool:
        """Whether the trainer asks the policy itself for the log-probabilities before the update. With one
        update for each batch what the rollout said is the same, and a forward pass is saved."""
        several_updates = self.epochs > 1 or self.update_turns is not None
        return several_updates or self.correction.enabled or self.top_p < 1

    @property
    def episodes_per_step(self) -> int:
        """That one step may have under way at once."""
        return self.draws_per_step * self.group_size

    @property
    def draws_per_step(self) -> int:
        """Tasks that one step may draw."""
        extra = self.dapo.extra_draws if self.algorithm == "dapo" else 0
        return self.prompts_per_step * (1 + extra)

    @property
    def critic_learning_rate(self) -> float:
        """`ppo.critic_learning_rate`, or what fits the weights that are trained."""
        return self.ppo.critic_learning_rate or (1e-4 if self.lora_rank else 1e-5)

    @property
    def all_steps(self) -> int:
        """Policy updates of all policies."""
        return self.steps * (2 if self.adapters == "per_agent" else 1)


class TasksConfig(Record):
    """What is taught and what is kept for the test."""

    sources: tuple[str, ...] = Field(default=("catalogue",), min_length=1)
    """Where tasks come from, any number of: `catalogue`; `kernelbench` or `sakana` (the hub's data sets); a
    data set of the hub (OWNER/NAME), its files, a checkout of KernelBench, a folder of `.cu` and `.py`
    problems; `module:attribute`, or an entry point of the group `coding_framework.tasks`."""
    kept: Path | None = None
    """Written by a training: the file in its run folder with the tasks that it began with."""
    train: tuple[str, ...] = Field(default=("*",), min_length=1)
    """Tasks that SFT and RL may see; `*` is every task of `sources` whose family is not held out."""
    held_out: tuple[str, ...] = Field(default=("*", "scale", "gelu", "row_sum", "bias_relu"), min_length=1)
    """Tasks that only the evaluation sees; `*` is every task of a held-out family."""

    @model_validator(mode="after")
    def _nothing_is_both(self) -> TasksConfig:
        both = set(self.train) & set(self.held_out) - {"*"}
        if both:
            raise ValueError(f"tasks cannot be both trained on and held out: {sorted(both)}")
        return self


class EvaluationConfig(Record):
    """How models are evaluated, in a training and by `cuda-rl evaluate`."""

    engine: Literal["auto", "vllm", "transformers"] = "auto"
    """What samples the answers; `auto` is vLLM where there is a GPU and the package, else transformers."""

    samples_per_task: int = Field(default=8, ge=1)
    """Episodes of each task and model."""
    max_turns: int = Field(default=1, ge=1, le=20)
    """Turns of an evaluation episode."""
    temperature: float = Field(default=0.6, ge=0)
    """0 is greedy."""
    batch_size: int | None = Field(default=None, ge=1)
    """Episodes had side by side; None: 128 with vLLM, 16 with transformers."""
    include_train_tasks: bool = True
    """Also show the tasks that were trained on, marked as such."""


class FrameworkConfig(Record):
    """Everything a run needs; written into every run folder as it was resolved."""

    run: RunConfig = RunConfig()
    """Where it lives."""
    model: ModelConfig = ModelConfig()
    """What is trained."""
    tasks: TasksConfig = TasksConfig()
    """On what."""
    judge: JudgeConfig = JudgeConfig()
    """Judged how."""
    conversation: ConversationConfig = ConversationConfig()
    """In which episodes."""
    reward: RewardConfig = RewardConfig()
    """For which reward."""
    curriculum: CurriculumConfig = CurriculumConfig()
    """In which order."""
    sft: SFTConfig = SFTConfig()
    """Supervised warm start."""
    rl: RLConfig = RLConfig()
    """Reinforcement learning."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Before/after comparison."""
    monitoring: MonitoringConfig = MonitoringConfig()
    """Watched where."""

    @model_validator(mode="after")
    def _something_can_be_trained(self) -> FrameworkConfig:
        if self.sft.max_length < self.conversation.max_response_tokens:
            raise ValueError("sft.max_length is below conversation.max_response_tokens: no pair would fit")
        return self

    @model_validator(mode="after")
    def _numbers_are_finite(self) -> FrameworkConfig:
        endless = [key for key, value in _numbers(self) if not math.isfinite(value)]
        if endless:
            raise ValueError(f"{', '.join(endless)} must be a finite number")
        return self


def _numbers(record: Record, prefix: str = "") -> Iterator[tuple[str, float]]:
    for name in type(record).model_fields:
        value = getattr(record, name)
        if isinstance(value, Record):
            yield from _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, float):
            yield prefix + name, value
