"""A folder that says who speaks with what: one model, and an adapter or a whole model for each agent that
has its own.

`agents.json` names them, seen from the file; what belongs to single agents stands below the folder. A
folder of this kind can be named wherever a chat model can.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from coding_framework.errors import ModelNotFoundError
from coding_framework.monitoring.storage import write_whole
from coding_framework.records import AgentRole, Record

FILE_NAME = "agents.json"


class AgentFolder(Record):
    """The contents of `agents.json`."""

    model: Path
    """The model of all that are not named below, and what adapters are of."""
    adapters: dict[AgentRole, Path] = Field(default_factory=dict)
    """Folder of each adapter."""
    models: dict[AgentRole, Path] = Field(default_factory=dict)
    """Folder of each whole model that one agent has for itself."""

    @model_validator(mode="after")
    def _each_agent_has_one_voice(self) -> AgentFolder:
        both = sorted(self.adapters.keys() & self.models.keys())
        if both:
            raise ValueError(f"{', '.join(both)} cannot have an adapter and a model of its own")
        return self

    def write(self, folder: Path) -> None:
        """The file, as a whole."""
        write_whole(folder / FILE_NAME, self.model_dump_json(indent=2))


def is_agent_folder(path: Path) -> bool:
    return (path / FILE_NAME).is_file()


def read_agent_folder(folder: Path) -> AgentFolder:
    """With whole paths; raises for what is not there."""
    file = folder / FILE_NAME
    try:
        found = AgentFolder.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelNotFoundError(f"{file} does not say who speaks with what: {error}") from None
    adapters = {role: folder / path for role, path in found.adapters.items()}
    for adapter in adapters.values():
        if not (adapter / "adapter_config.json").is_file():
            raise ModelNotFoundError(f"{file} names {adapter}, which holds no adapter")
    model, models = folder / found.model, {role: folder / path for role, path in found.models.items()}
    for one in (model, *models.values()):
        if not (one / "config.json").is_file():
            raise ModelNotFoundError(f"{file} names the model {one}, which is not there any more")
    return AgentFolder(model=model, adapters=adapters, models=models)
