"""Models by their Hugging Face name. Offline settings of the hub library (`HF_HUB_OFFLINE`) hold."""

from __future__ import annotations

from pathlib import Path

from coding_framework.errors import MissingExtraError, ModelNotFoundError

WANTED_FILES = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]
"""What a causal model needs; repositories often hold the weights a second time in other formats."""


def find_snapshot(name: str) -> Path:
    """The cached copy of a hub model; no network."""
    try:
        return _snapshot(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"{name} is neither a folder here nor in the Hugging Face cache: run  cuda-rl models fetch {name}"
        ) from error


def download_snapshot(name: str) -> Path:
    """The hub model, downloaded where it is not cached."""
    try:
        return _snapshot(name, local_files_only=False)
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["no message"])[0]
        raise ModelNotFoundError(
            f"{name} could not be downloaded from the Hugging Face hub ({reason}). Without the hub, use an "
            f"embedded model: `cuda-rl models list`"
        ) from error


def _snapshot(name: str, *, local_files_only: bool) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtraError("huggingface_hub", "train") from error
    folder = Path(snapshot_download(name, allow_patterns=WANTED_FILES, local_files_only=local_files_only))
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"no config.json in {folder}")
    return folder
