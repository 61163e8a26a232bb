"""verl plug-in: the FSDP language-model engine, registered for the device `cpu`.

verl registers its FSDP engines for cuda and npu only; the engine itself runs on gloo unchanged.
There is no value-model engine here: group-relative advantages need no critic.
"""

from __future__ import annotations

from verl.workers.engine.base import EngineRegistry

from coding_framework.training.rl.reference_engine import LanguageModelEngine

EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")(
    LanguageModelEngine
)
