"""`cuda-rl optimize FILE`: a whole conversation on a user's own problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import ConfigOption, JsonOption, SetOption
from coding_framework.errors import FrameworkError

if TYPE_CHECKING:
    from coding_framework.cli.optimize_problem import Problem
    from coding_framework.cli.optimize_view import ProgressView
    from coding_framework.cuda.pool import JudgePool
    from coding_framework.orchestration.optimize_records import (
        OptimizeFolder,
        OptimizeOutcome,
        OptimizeSettings,
    )
    from coding_framework.orchestration.optimizing import Optimization
    from coding_framework.records import Candidate, Evaluation, KernelTiming, ModuleTask, Task

NOTHING_BETTER = 11
"""Exit code: no verified kernel is faster than the naive one for certain."""
LEAST_SPEEDUP = 1.005
"""Where a modelled time, which has no noise, begins to count as faster."""
_DEFAULTS = (
    "conversation.early_stop_reward=1.0",
    "reward.target_speedup=100.0",  # the reward is full there and ends a conversation: not before it must
    "conversation.max_response_tokens=768",
)


def optimize(
    file: Annotated[
        str,
        typer.Argument(
            help="A .cu file with a naive kernel and a header (see docs/conversation.md), a KernelBench .py "
            "file (needs a GPU), or the name of a task of the catalogue."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="smollm2, a model folder, vllm:PATH, openai:MODEL@URL, or module:attribute for a model of "
            "your own.",
            show_default="smollm2",
        ),
    ] = None,
    adapter: Annotated[Path | None, typer.Option(help="Folder of a LoRA adapter for the model.")] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, max=20, help="Turns of a conversation.", show_default="5")
    ] = None,
    tries: Annotated[
        int | None, typer.Option(min=1, help="Independent conversations.", show_default="1")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the sampling.", show_default="17")] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, help="Of the sampling.", show_default="0.8")
    ] = None,
    executor: Annotated[str | None, typer.Option(help="emulator, gpu or auto.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for everything.", show_default="optimized/NAME")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where --out stopped.")] = False,
    config: ConfigOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Let a model make your kernel faster. Exit code 0 if it did, 11 if nothing better was found."""
    from coding_framework.cli.optimize_settings import fresh_settings, resumed_settings
    from coding_framework.orchestration.optimize_records import OptimizeFolder

    folder = OptimizeFolder(out or Path("optimized") / Path(file).stem)
    given: dict[str, object] = {"model": model, "adapter": adapter, "tries": tries, "seed": seed}
    given |= {"temperature": temperature}
    chosen = {name: value for name, value in given.items() if value is not None}
    if resume:
        settings = resumed_settings(folder, file, chosen, fixed=any((turns, executor, config, set_)))
    else:
        overrides = [*(() if config else _defaults(set_ or ())), *(set_ or ())]
        overrides += [f"conversation.max_turns={turns}"] if turns else []
        overrides += [f"judge.executor={executor}"] if executor else []
        settings = fresh_settings(folder, file, chosen, config, overrides)
    outcome = _run(file, settings, folder, json=json)
    if not outcome.improved:
        raise typer.Exit(NOTHING_BETTER)


def _defaults(overrides: Sequence[str]) -> Iterator[str]:
    """A reward of one's own has a scale of its own."""
    own = any(text.strip().startswith("reward.function") for text in overrides)
    return (default for default in _DEFAULTS if not (own and default.startswith("reward.")))


def _run(file: str, settings: OptimizeSettings, folder: OptimizeFolder, *, json: bool) -> OptimizeOutcome:
    """Everything that needs a judge; what was finished is kept whatever happens."""
    import asyncio

    from coding_framework.cli.optimize_problem import read_problem
    from coding_framework.cli.optimize_view import ProgressView, show_outcome
    from coding_framework.cli.output import print_record, stderr_console, stdout_console
    from coding_framework.cuda.pool import open_pool

    console = stderr_console()
    with console.status(f"reading {file}"):
        problem = read_problem(file, settings.problem, settings.judge)
    for note in problem.notes:
        console.print(note, markup=False, soft_wrap=True)
    with open_pool(problem.judge.model_copy(update={"workers": 1})) as pool:
        optimization = _optimization(problem, settings, folder, pool)
        try:
            with ProgressView(console, settings.conversation.max_turns, settings.tries) as view:
                outcome = asyncio.run(_converse(optimization, problem, settings, folder, pool, view))
        except (KeyboardInterrupt, FrameworkError) as error:
            if folder.settings_file.exists():
                asyncio.run(optimization.keep_picture())
                go_on = f"cuda-rl optimize {file} --out {folder.path} --resume"
                words = f"every finished turn is kept; go on with  {go_on}"
                console.print(words, markup=False, soft_wrap=True)
            if isinstance(error, FrameworkError):
                raise
            raise typer.Exit(130) from None
    if json:
        print_record(outcome)
    else:
        diff = optimization.difference(outcome)
        show_outcome(stdout_console(), outcome, list(optimization.attempts), diff)
    return outcome


def _optimization(
    problem: Problem, settings: OptimizeSettings, folder: OptimizeFolder, pool: JudgePool
) -> Optimization:
    from coding_framework.orchestration.optimizing import Optimization
    from coding_framework.training.reward_functions.trial import checked_reward

    async def judge_afresh(task: Task | ModuleTask, candidate: Candidate) -> Evaluation:
        pool.forget()
        return await pool.judge_async(task, candidate)

    return Optimization(
        problem.task,
        problem.reference,
        settings,
        folder,
        judge=pool.judge_async,
        confirm=judge_afresh,
        reward=checked_reward(settings.reward),
        is_faster=is_faster,
    )


def is_faster(timing: KernelTiming) -> bool:
    """Whether the whole interval of the speedup lies above 1; a modelled time needs a little more."""
    from coding_framework.training.reward_functions.speedup import Speedup

    low = Speedup.of(timing).low
    return low > 1 if timing.kind == "measured" else low > LEAST_SPEEDUP


async def _converse(
    optimization: Optimization,
    problem: Problem,
    settings: OptimizeSettings,
    folder: OptimizeFolder,
    pool: JudgePool,
    view: ProgressView,
) -> OptimizeOutcome:
    from coding_framework.agents.models.chat_model import SamplingSettings
    from coding_framework.agents.models.open_model import open_chat_model
    from coding_framework.cli.optimize_problem import require_sound
    from coding_framework.records import Candidate, Generation, GenerationRequest, Task

    if isinstance(problem.task, Task):
        view.doing("judging the naive kernel")
        require_sound(await pool.judge_async(problem.task, Candidate(source=problem.task.baseline)))
    view.doing(f"loading {settings.model}")
    sampling = SamplingSettings(temperature=settings.temperature, seed=settings.seed, max_batch_size=1)
    model = open_chat_model(settings.model, adapter=settings.adapter, settings=sampling)
    folder.begin(settings)

    async def generate(request: GenerationRequest) -> Generation:
        view.doing(f"the {request.agent} is writing")
        answer = await model.generate(request)
        view.doing("judging")
        return answer

    return await optimization.run(generate, view.add)
