"""A folder says who speaks with what, and is opened like a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from coding_framework.agents.models import open_model
from coding_framework.agents.models.agent_folder import AgentFolder, read_agent_folder
from coding_framework.agents.models.by_agent import ChatModelByAgent
from coding_framework.agents.models.vllm_model import MEMORY_SHARE
from coding_framework.errors import ModelNotFoundError
from coding_framework.records import AgentRole

OPTIMIZER: Mapping[AgentRole, Path] = {"optimizer": Path("own")}


def folder_with(folder: Path, *models: str) -> Path:
    for name in models:
        (folder / name).mkdir()
        (folder / name / "config.json").write_text("{}")
    AgentFolder(model=Path("all"), models=dict(OPTIMIZER)).write(folder)
    return folder


def test_paths_are_seen_from_the_file(tmp_path: Path) -> None:
    found = read_agent_folder(folder_with(tmp_path, "all", "own"))
    assert (found.model, found.models) == (tmp_path / "all", {"optimizer": tmp_path / "own"})


@pytest.mark.parametrize("there", ["all", "own"])
def test_a_model_that_is_gone_is_named(tmp_path: Path, there: str) -> None:
    missing = {"all": "own", "own": "all"}[there]
    with pytest.raises(ModelNotFoundError, match=f"{missing}, which is not there"):
        read_agent_folder(folder_with(tmp_path, there))


def test_nobody_speaks_with_two_voices() -> None:
    with pytest.raises(ValidationError, match="optimizer cannot have an adapter and a model"):
        AgentFolder(model=Path("all"), adapters=dict(OPTIMIZER), models=dict(OPTIMIZER))


def test_engines_on_one_card_share_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, float] = {}

    def start(path: Any, *, gpu_memory_share: float, **_: Any) -> str:
        started[Path(path).name] = gpu_memory_share
        return str(path)

    monkeypatch.setattr(open_model.VLLMChatModel, "from_pretrained", start)
    model = open_model.open_chat_model(f"vllm:{folder_with(tmp_path, 'all', 'own')}")
    assert isinstance(model, ChatModelByAgent)
    assert started == {"all": MEMORY_SHARE / 2, "own": MEMORY_SHARE / 2}
