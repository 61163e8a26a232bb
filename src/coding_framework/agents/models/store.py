"""Where models come from: embedded ones, local folders, the Hugging Face hub.

`resolve_model` never uses the network; `fetch_model` may. An embedded model is built once under
the user's cache folder (`CODING_FRAMEWORK_CACHE` moves it). A folder under its final name is
complete: it is built beside and renamed, and a lock keeps two processes from building it at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import Field

from coding_framework.agents.models.agent_folder import is_agent_folder
from coding_framework.agents.models.catalogue import DEFAULT_MODEL, EMBEDDED_MODELS, EmbeddedModel
from coding_framework.agents.models.hub import download_snapshot, find_snapshot
from coding_framework.agents.models.own_model import NOT_TO_BE_TRAINED, names_own_model
from coding_framework.errors import ModelNotFoundError, StorageError
from coding_framework.records.base import Record

__all__ = [
    "DEFAULT_MODEL",
    "FetchProgress",
    "ModelInfo",
    "check_model_name",
    "fetch_model",
    "list_models",
    "resolve_model",
]

CACHE_VARIABLE = "CODING_FRAMEWORK_CACHE"


class FetchProgress(Record):
    """How far a fetch has come."""

    stage: Literal["download", "convert", "ready"]
    """What is being done."""
    done_bytes: int = Field(ge=0)
    """Downloaded so far."""
    total_bytes: int = Field(ge=0)
    """About how much there is to download."""


class ModelInfo(Record):
    """One embedded model and whether it is on this machine."""

    name: str
    """What the user writes."""
    path: Path | None
    """Its folder; None until it is fetched."""
    size_bytes: int = Field(ge=0)
    """On disk when fetched, else about what is downloaded."""
    licence: str
    """Terms of the weights."""

    @property
    def fetched(self) -> bool:
        return self.path is not None


OnProgress = Callable[[FetchProgress], None]


def cache_folder() -> Path:
    """What costs time to make and may be made again."""
    import platformdirs

    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("coding_framework"))


def models_folder() -> Path:
    """Where embedded models are kept."""
    return cache_folder() / "models"


def list_models() -> tuple[ModelInfo, ...]:
    """The embedded models, fetched or not."""
    return tuple(_info(model) for model in EMBEDDED_MODELS.values())


def resolve_model(name: str) -> Path:
    """The folder of a model that is already on this machine."""
    embedded = EMBEDDED_MODELS.get(name)
    if embedded is not None:
        folder = models_folder() / embedded.folder
        if folder.is_dir():
            return folder
        raise ModelNotFoundError(f"{name} is not on this machine yet: run  cuda-rl models fetch {name}")
    local = _local_folder(name)
    return local if local is not None else find_snapshot(name)


def check_model_name(name: str) -> None:
    """Raises for a name that no model can have; no network. What looks like OWNER/MODEL may be on the hub."""
    if name not in EMBEDDED_MODELS:
        _local_folder(name)


def fetch_model(name: str, progress: OnProgress = lambda _: None) -> Path:
    """The folder of a model, downloading and converting it first where needed."""
    embedded = EMBEDDED_MODELS.get(name)
    if embedded is not None:
        return _fetch_embedded(embedded, progress)
    local = _local_folder(name)
    return local if local is not None else download_snapshot(name)


def _info(model: EmbeddedModel) -> ModelInfo:
    folder = models_folder() / model.folder
    path = folder if folder.is_dir() else None
    size = sum(f.stat().st_size for f in folder.iterdir()) if path else model.download_bytes
    return ModelInfo(name=model.name, path=path, size_bytes=size, licence=model.licence)


def _local_folder(name: str) -> Path | None:
    """A folder that the name points to; None when it looks like the name of something else."""
    if not name.strip():
        raise ModelNotFoundError("the name of the model is empty")
    path = Path(name).expanduser()
    if (path / "config.json").is_file() or is_agent_folder(path):
        return path
    if path.exists():
        raise ModelNotFoundError(f"{name} exists but is no model folder: it has no config.json")
    if names_own_model(name):
        raise ModelNotFoundError(f"{name} {NOT_TO_BE_TRAINED}")
    if name.count("/") != 1 or name.startswith((".", "~", "/")):
        known = ", ".join(EMBEDDED_MODELS)
        close = get_close_matches(name, EMBEDDED_MODELS, n=1, cutoff=0.4)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise ModelNotFoundError(
            f"no model called {name!r}{meant}: give an embedded model ({known}; `cuda-rl models fetch`), a "
            f"model folder, or a Hugging Face name such as owner/model"
        )
    return None


def _fetch_embedded(model: EmbeddedModel, progress: OnProgress) -> Path:
    from filelock import FileLock

    folder = models_folder() / model.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{model.folder}.lock"):
            if not folder.is_dir():
                _build(model, folder, progress)
    except OSError as error:
        raise StorageError(f"{model.name} could not be stored below {folder.parent}: {error}") from error
    progress(_progress("ready", model, model.download_bytes))
    return folder


def _build(model: EmbeddedModel, folder: Path, progress: OnProgress) -> None:
    """Download, verify, convert beside, rename. A broken-off build keeps its finished downloads."""
    from coding_framework.agents.models.conversion import convert_gguf
    from coding_framework.agents.models.download import download_weights

    work = folder.parent / f".{model.folder}.partial"
    converted = work / "converted"
    shutil.rmtree(converted, ignore_errors=True)
    work.mkdir(exist_ok=True)
    weights = download_weights(model, work, lambda done: progress(_progress("download", model, done)))
    progress(_progress("convert", model, model.download_bytes))
    convert_gguf(model, weights, converted)
    converted.rename(folder)
    shutil.rmtree(work, ignore_errors=True)


def _progress(
    stage: Literal["download", "convert", "ready"], model: EmbeddedModel, done_bytes: int
) -> FetchProgress:
    return FetchProgress(
        stage=stage, done_bytes=min(done_bytes, model.download_bytes), total_bytes=model.download_bytes
    )
