"""verl plug-in: a reference with a card of its own keeps its weights there.

verl's engine keeps the weights of a model that only computes forward in main memory and brings each layer
to the card when it is needed: right where the actor shares the card, a waste on a card of its own. On the
CPU there is no card to bring them to, and the pinned memory that this takes does not exist.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from verl.utils.device import get_device_name
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

from coding_framework.training.rl.worker_settings import WorkerSettings


class LanguageModelEngine(FSDPEngineWithLMHead):  # type: ignore[misc]
    """verl's, but for where a model that only computes forward lives."""

    engine_config: Any

    def _build_fsdp_module(self, module: Any) -> Any:
        config = self.engine_config
        if not config.forward_only or not _stays():
            return super()._build_fsdp_module(module)
        self.engine_config = replace(config, forward_only=False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            self.engine_config = config


def _stays() -> bool:
    return get_device_name() == "cpu" or bool(WorkerSettings.from_environment().rl.gpus.reference)


EngineRegistry.register(
    model_type="language_model", backend=["fsdp", "fsdp2"], device="cuda", vendor="nvidia"
)(LanguageModelEngine)
