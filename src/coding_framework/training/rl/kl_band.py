"""The weight of the KL term, changed from step to step so that the policy stays in a band.

The distance is the mean KL of a token to the start model, as each update measured it. Above the band the
weight rises, below it falls, inside it stays. The weight is kept beside the checkpoint of its step: a
resumed run goes on with the one that it had.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coding_framework.config import KLBandConfig
from coding_framework.errors import TrainingError
from coding_framework.monitoring.storage import write_whole
from coding_framework.records import Record

_FURTHEST = 100.0
"""How far the weight may go from where it began, up or down: what is further says that the band is wrong."""
_FILE = "kl_coef.json"


class KLWeight(Record):
    """What the controller knows."""

    coef: float = Field(gt=0)
    """Of the next update."""

    def after(self, measured_kl: float, band: KLBandConfig, start: float) -> KLWeight:
        """The weight of the next update, once one has measured the distance."""
        low, high = band.low, band.high
        if low is None or high is None:
            return self
        change = band.factor if measured_kl > high else 1 / band.factor if measured_kl < low else 1.0
        return KLWeight(coef=min(start * _FURTHEST, max(start / _FURTHEST, self.coef * change)))

    def write(self, checkpoint: Path) -> None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_whole(checkpoint / _FILE, self.model_dump_json())

    @classmethod
    def read(cls, checkpoint: Path) -> KLWeight:
        path = checkpoint / _FILE
        if not path.is_file():
            raise TrainingError(f"{path} is missing: the weight of the KL term at this step is not known")
        return cls.model_validate_json(path.read_bytes())
