"""A folder that says who speaks with what: one model, and an adapter for each agent that has its own.

`agents.json` names them; adapters stand below the folder, the model wherever it is. A folder of this
kind can be named wherever a chat model can.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from coding_framework.errors import ModelNotFoundError
from coding_framework.monitoring.storage import write_whole
from coding_framework.records import AgentRole, Record

FILE_NAME = "agents.json"


class AgentFolder(Record):
    """The contents of `agents.json`."""

    model: Path
    """The model that all of them share."""
    adapters: dict[AgentRole, Path]
    """Folder of each adapter, seen from the file; agents without one are the model as it is."""

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
    if not (found.model / "config.json").is_file():
        raise ModelNotFoundError(f"{file} names the model {found.model}, which is not there any more")
    return found.model_copy(update={"adapters": adapters})
