"""What an optimisation is asked for: from the command line, or from the folder that it continues."""

from __future__ import annotations

from pydantic import ValidationError

from coding_framework.cli.optimize_problem import problem_text
from coding_framework.config import load_config
from coding_framework.errors import UserError
from coding_framework.orchestration.optimize_records import OptimizeFolder, OptimizeSettings


def fresh_settings(
    folder: OptimizeFolder, file: str, chosen: dict[str, object], config: str | None, overrides: list[str]
) -> OptimizeSettings:
    """For a folder that is not in use yet."""
    if folder.settings_file.exists():
        raise UserError(
            f"{folder.path} holds an earlier optimisation: continue it with --resume, or choose another --out"
        )
    tree = load_config(config, overrides)
    return OptimizeSettings.model_validate(
        {
            "problem": problem_text(file),
            "problem_name": file,
            "model": "smollm2",
            "seed": tree.run.seed,
            "conversation": tree.conversation,
            "reward": tree.reward,
            "judge": tree.judge,
            **chosen,
        }
    )


def resumed_settings(
    folder: OptimizeFolder, file: str, chosen: dict[str, object], *, fixed: bool
) -> OptimizeSettings:
    """The stored settings; only the number of tries may change, because each try stands alone."""
    if not folder.settings_file.is_file():
        raise UserError(f"there is nothing to resume in {folder.path}: it has no settings.json")
    try:
        settings = OptimizeSettings.model_validate_json(folder.settings_file.read_bytes())
    except ValidationError as error:
        raise UserError(f"{folder.settings_file} cannot be read: {error}") from None
    if problem_text(file) != settings.problem:
        raise UserError(f"{file} is not the problem that {folder.path} is about; choose another --out")
    stored = settings.model_dump()
    others = [name for name, value in chosen.items() if name != "tries" and value != stored[name]]
    if others or fixed:
        raise UserError("--resume continues with the settings of that folder; only --tries may be given")
    return settings.model_copy(update={"tries": chosen.get("tries", settings.tries)})
