"""The one door to a chat model: a short text says which.

    smollm2                             an embedded model, by its name or the beginning of it
    runs/…/model, owner/model           a folder, or a model of the Hugging Face cache, in this process
    vllm:PATH                           the same through vLLM in this process (needs a GPU)
    runs/…/sft                          a folder that names who speaks with what (`agents.json`)
    openai:MODEL@https://host/v1        any server that speaks OpenAI's chat completions
    module:attribute                    a model of one's own, or the name of an entry point that makes one

Guarantees: nothing heavy is imported before it is needed; a text that names nothing is refused with
what could be meant. Models must be on this machine already (`cuda-rl models fetch`). With transformers
every adapter costs a copy of the weights; vLLM shares them. Agents with whole models of their own cost an
engine each, which share the card's memory evenly.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from coding_framework.agents.models.agent_folder import is_agent_folder, read_agent_folder
from coding_framework.agents.models.by_agent import ChatModelByAgent
from coding_framework.agents.models.catalogue import EMBEDDED_MODELS
from coding_framework.agents.models.chat_model import ChatModel, SamplingSettings, TransformersChatModel
from coding_framework.agents.models.openai_model import API_KEY_VARIABLE, OpenAIChatModel, OpenAISettings
from coding_framework.agents.models.own_model import NOT_TO_BE_TRAINED, OwnChatModel, names_own_model
from coding_framework.agents.models.vllm_model import MEMORY_SHARE, VLLMChatModel
from coding_framework.errors import UserError
from coding_framework.records import AgentRole


def open_chat_model(
    spec: str,
    *,
    adapter: Path | None = None,
    adapters: Mapping[AgentRole, Path] | None = None,
    settings: SamplingSettings | None = None,
    dtype: str | None = None,
    device: str | None = None,
    gpu_memory_share: float = MEMORY_SHARE,
    api_key_variable: str = API_KEY_VARIABLE,
) -> ChatModel:
    """The chat model that `spec` names; `adapter` serves all agents, `adapters` single ones.

    `dtype` None: bfloat16 with vLLM, float32 else. `gpu_memory_share` is of vLLM alone.
    """
    settings = settings or SamplingSettings()
    kind, _, rest = spec.strip().partition(":")
    if kind == "openai":
        if adapter or adapters:
            raise UserError(
                "a server chooses its adapters itself: name the adapted model in openai:MODEL@URL"
            )
        return _open_server(rest, settings, api_key_variable)
    if not spec.strip():
        raise UserError(
            "name a chat model: smollm2, a folder, vllm:PATH, openai:MODEL@URL or module:attribute"
        )
    name = rest if kind == "vllm" else spec.strip()
    if names_own_model(name):
        return _open_own(name, settings, adapted=bool(adapter or adapters), in_vllm=kind == "vllm")
    models: Mapping[AgentRole, Path] = {}
    if is_agent_folder(Path(name).expanduser()):
        if adapter or adapters:
            raise UserError(f"{name} names the adapters of its agents itself: leave out the other ones")
        found = read_agent_folder(Path(name).expanduser())
        name, adapters, models = str(found.model), found.adapters, found.models
    name = embedded_name(name)
    if kind == "vllm":
        share = gpu_memory_share / (1 + len(models))
        engine = partial(
            VLLMChatModel.from_pretrained,
            settings=settings,
            dtype=dtype or "bfloat16",
            gpu_memory_share=share,
        )
        default: ChatModel = engine(name, adapter=adapter, adapters=adapters)
        return _by_agent(default, {role: engine(path) for role, path in models.items()})
    load = partial(
        TransformersChatModel.from_pretrained, dtype=dtype or "float32", device=device, settings=settings
    )
    adapted = {role: load(name, adapter=path) for role, path in (adapters or {}).items()}
    whole = {role: load(path) for role, path in models.items()}
    return _by_agent(load(name, adapter=adapter), {**adapted, **whole})


def _by_agent(default: ChatModel, own: Mapping[AgentRole, ChatModel]) -> ChatModel:
    return ChatModelByAgent(default, own) if own else default


def _open_own(name: str, settings: SamplingSettings, *, adapted: bool, in_vllm: bool) -> ChatModel:
    if in_vllm:
        raise UserError(f"{name} {NOT_TO_BE_TRAINED}")
    if adapted:
        raise UserError(f"{name} is a model of your own, which no adapter is added to: leave the adapter out")
    return OwnChatModel(name, settings)


def embedded_name(name: str) -> str:
    """The full name of an embedded model whose name begins so, where there is just one; else as it is."""
    if Path(name).expanduser().exists():
        return name
    fitting = [known for known in EMBEDDED_MODELS if name and known.startswith(name)]
    return fitting[0] if len(fitting) == 1 else name


def _open_server(rest: str, settings: SamplingSettings, api_key_variable: str) -> ChatModel:
    model, _, url = rest.rpartition("@")
    if not model or not url.startswith(("http://", "https://")):
        raise UserError(
            f"openai:{rest} does not say model and server: write openai:MODEL@URL, for example "
            f"openai:qwen2.5-coder@http://localhost:8000/v1"
        )
    server = OpenAISettings(model=model, base_url=url, api_key_variable=api_key_variable)
    return OpenAIChatModel(server, settings)
