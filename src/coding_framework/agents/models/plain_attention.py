"""Which models our own attention computes right: those of which every token sees all before it, evenly.

Sampling (`kv_rows`), SFT (`training/sft/attention`) and packed rows (`training/packed_attention`) each have a
function in the place of transformers' own. None of them knows a sliding window, softcapped scores or sinks,
and the logits that training computes in pieces know no cap. A window that no row is longer than changes
nothing. Everything else is an error here: silently computed without, it would be another model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coding_framework.errors import ConfigError

_CAPS = ("attn_logit_softcapping", "final_logit_softcapping")


def require_plain(options: Mapping[str, object], longest: int) -> None:
    """`options` are what transformers passes to an attention function beside the tensors."""
    window, asked = options.get("sliding_window"), [name for name in ("softcap", "s_aux") if name in options]
    if isinstance(window, int) and window < longest:
        raise ConfigError(
            f"this model sees {window} tokens back at most (sliding_window), a row has {longest}, and that "
            f"is not supported: keep rows to {window} tokens or take another model"
        )
    unknown = [name for name in asked if options[name] is not None]
    if unknown:
        raise ConfigError(
            f"this model's attention has {unknown[0]}, which is not supported: take another model"
        )


def not_plain(config: Mapping[str, Any], longest: int) -> str | None:
    """The same of a model's `config.json`, with rows of so many tokens at most; None where all is well."""
    text = {**config, **config.get("text_config", {})}
    caps = [name for name in _CAPS if text.get(name) is not None]
    if caps:
        named = " and ".join(caps)
        return f"its {named} would be left out, with model.attention=sdpa too: take another model.name"
    window = text.get("sliding_window") if text.get("use_sliding_window", True) else None
    if isinstance(window, int) and window < longest:
        return (
            f"it sees {window} tokens back at most (sliding_window), which would be left out, with model."
            f"attention=sdpa too, and rows may have {longest}: lower sft.max_length and conversation."
            f"max_prompt_tokens + max_response_tokens to {window}, or take another model.name"
        )
    return None
