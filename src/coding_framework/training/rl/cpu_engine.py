"""verl plug-in: the FSDP language-model engine, registered for the device `cpu`.

verl registers its FSDP engines for cuda and npu only; the engine itself runs on gloo unchanged.
The critic has an engine of its own (`critic_engine`).
"""

from __future__ import annotations

from verl.workers.engine.base import EngineRegistry

from coding_framework.training.rl.reference_engine import LanguageModelEngine

EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")(
    LanguageModelEngine
)
