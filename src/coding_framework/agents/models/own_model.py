"""A chat model of a user's own: `module:attribute`, or an entry point of the group `coding_framework.models`.

What is named is a factory: called with the `SamplingSettings` it gives a `ChatModel`. Guaranteed: what cannot
be one is refused before anything is asked; an exception of the user's code, an answer that is no `Generation`
and one that is longer than was allowed are an `OwnCodeError` that names it. Not guaranteed: that it heeds
temperature and seed (tests/agents/test_chat_model_conformance.py says what a good one does).
"""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast

from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.errors import ConfigError, FrameworkError, OwnCodeError
from coding_framework.plugins import load_object, raised, require_arguments
from coding_framework.records import Generation, GenerationRequest

if TYPE_CHECKING:
    from coding_framework.agents.models.chat_model import ChatModel, SamplingSettings

GROUP = "coding_framework.models"
"""Of the entry points that packages register models under."""
NOT_TO_BE_TRAINED = (
    "is a chat model of your own, which can be asked and evaluated (cuda-rl optimize --model, cuda-rl "
    "evaluate); what is trained must be weights that transformers loads: name an embedded model, a folder or "
    "a Hugging Face model"
)
_OTHER_KINDS = ("openai", "vllm")


def names_own_model(spec: str) -> bool:
    """Whether the text is a reference; what exists on disk and what is embedded comes first."""
    module, separator, attribute = spec.partition(":")
    if module in _OTHER_KINDS or spec in EMBEDDED_MODELS or Path(spec).expanduser().exists():
        return False
    if separator:
        return all(name.isidentifier() for name in f"{module}.{attribute}".split("."))
    return spec in entry_points(group=GROUP).names


class OwnChatModel:
    """The user's model, with its answers looked at."""

    def __init__(self, reference: str, settings: SamplingSettings) -> None:
        self._reference = reference
        self._model = _made(reference, settings)

    async def generate(self, request: GenerationRequest) -> Generation:
        who = f"the model {self._reference}"
        try:
            answer: object = await self._model.generate(request)
        except FrameworkError:
            raise
        except Exception as error:
            raise OwnCodeError(f"{who} raised {raised(error)} when the {request.agent} asked it") from error
        if not isinstance(answer, Generation):
            raise OwnCodeError(f"{who} gave a {type(answer).__name__} instead of a Generation")
        if len(answer.token_ids) > request.max_tokens:
            raise OwnCodeError(
                f"{who} answered with {len(answer.token_ids)} tokens where {request.max_tokens} were allowed"
            )
        return answer

    def close(self) -> None:
        """Whatever the user's model has to do for it."""
        close = getattr(self._model, "close", None)
        if callable(close):
            close()


def _made(reference: str, settings: SamplingSettings) -> ChatModel:
    who = f"the model {reference}"
    factory = load_object(reference, GROUP)
    if not callable(factory):
        raise ConfigError(
            f"{who} is a {type(factory).__name__}; name a function or class that is called with the sampling "
            "settings"
        )
    require_arguments(factory, ("settings",), who)
    try:
        model: object = factory(settings)
    except FrameworkError:
        raise
    except Exception as error:
        raise ConfigError(f"{who} could not be made: {raised(error)}") from error
    if not inspect.iscoroutinefunction(getattr(model, "generate", None)):
        raise ConfigError(f"{who} gave a {type(model).__name__} without `async def generate(self, request)`")
    require_arguments(cast("ChatModel", model).generate, ("request",), f"generate of {who}")
    return cast("ChatModel", model)
