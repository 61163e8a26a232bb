"""Checkpoints that are either whole or not there.

Everything is serialised in memory, written to a folder beside, synced and renamed: a full disk, a kill
or a power cut leaves the checkpoint before intact. A checkpoint holds what is trained, the optimizer and the
losses so far; order and random numbers follow from seed and step. So a resumed run repeats the uninterrupted
one exactly. One that cannot be read all the same (a disk that lost what it had confirmed) is passed over for
the one before it, with a warning.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import structlog

from coding_framework.errors import StorageError, UserError
from coding_framework.monitoring.storage import replacing_folder

log = structlog.stdlib.get_logger(__name__)

KEPT = 2
"""Older checkpoints are removed; of a finished run the last one stays, from which it can be extended."""
STATE_FILE = "trainer_state.pt"
WEIGHTS_FILE = "trained.safetensors"


class TrainerState(NamedTuple):
    """Where a run stands."""

    step: int
    """Finished steps."""
    losses: tuple[float, ...]
    fingerprint: str
    """Of data and settings."""
    steps: int
    """How long the run was to be."""
    warm_from: int = 0
    """Step at which it was last extended: the learning rate warms up from there."""

    def of_length(self, steps: int) -> TrainerState:
        """The same in a run of so many steps."""
        return self if steps == self.steps else self._replace(steps=steps, warm_from=self.step)


def save_checkpoint(folder: Path, state: TrainerState, model: Any, optimizer: Any) -> Path:
    """Write `folder/step_N`; raises `StorageError` when it cannot."""
    target = folder / f"step_{state.step:06d}"
    try:
        with replacing_folder(target) as beside:
            (beside / WEIGHTS_FILE).write_bytes(_trained_bytes(model))
            (beside / STATE_FILE).write_bytes(_state_bytes(state, optimizer))
    except OSError as error:
        raise StorageError(
            f"the checkpoint of step {state.step} could not be written to {folder}: {error}. Free some space "
            f"and run again with --resume: the checkpoint before it is intact"
        ) from error
    prune_checkpoints(folder, keep=KEPT)
    return target


def prune_checkpoints(folder: Path, *, keep: int) -> None:
    """Leave the newest."""
    for old in checkpoints_in(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def checkpoints_in(folder: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted(folder.glob("step_*"))


class SavedSteps:
    """Tells once of each newest checkpoint: another process may have written it."""

    def __init__(self, folder: Path, on_saved: Callable[[int], object]) -> None:
        self._folder, self._on_saved, self._last = folder, on_saved, 0

    def look(self) -> None:
        found = checkpoints_in(self._folder)
        newest = int(found[-1].name.rpartition("_")[2]) if found else 0
        if newest > self._last:
            self._last = newest
            self._on_saved(newest)


def load_newest(folder: Path, model: Any, optimizer: Any, expected_fingerprint: str) -> TrainerState | None:
    """Put model and optimizer back to where the newest readable checkpoint has them; None without one."""
    import torch

    for path in reversed(checkpoints_in(folder)):
        found = _read(path)
        if found is None:
            continue
        saved, weights = found
        if saved["fingerprint"] != expected_fingerprint:
            raise UserError(
                f"{path} was made with other pairs or settings: resume with the same ones, or start anew "
                f"without --resume"
            )
        with torch.no_grad():
            for name, parameter in trained_parameters(model):
                parameter.copy_(weights[name])
        optimizer.load_state_dict(saved["optimizer"])
        for torn in checkpoints_in(folder):
            if torn > path:  # its steps are done again
                shutil.rmtree(torn, ignore_errors=True)
        return TrainerState(*(saved[name] for name in TrainerState._fields))
    return None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What stands in a checkpoint; None, with a warning, where a file of it is missing or torn."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        saved = torch.load(path / STATE_FILE, weights_only=True, map_location="cpu")
        return saved, load_file(path / WEIGHTS_FILE)
    except (OSError, RuntimeError, EOFError, UnpicklingError, SafetensorError) as error:
        # torch guesses at old formats in words that mislead here: the kind of the error says enough.
        found = type(error).__name__
        log.warning(
            "checkpoint_cannot_be_read", path=str(path), error=found, hint="the one before it is taken"
        )
        return None


def trained_parameters(model: Any) -> list[tuple[str, Any]]:
    """Names and weights of what learns, each once."""
    return [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]


def write_adapter(folder: Path, model: Any) -> None:
    """The adapter in peft's own format. Raises OSError alone, unlike peft's and torch's writers."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    tensors = {name: t.detach().contiguous().cpu() for name, t in get_peft_model_state_dict(model).items()}
    (folder / "adapter_model.safetensors").write_bytes(save(tensors, {"format": "pt"}))
    model.peft_config["default"].save_pretrained(folder)


def _trained_bytes(model: Any) -> bytes:
    from safetensors.torch import save

    return bytes(save({name: w.detach().contiguous().cpu() for name, w in trained_parameters(model)}))


def _state_bytes(state: TrainerState, optimizer: Any) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save({**state._asdict(), "optimizer": optimizer.state_dict()}, buffer)
    return buffer.getvalue()
