"""Sizes of a model from its `config.json`, without loading anything."""

from __future__ import annotations

import json
from pathlib import Path

from coding_framework.errors import ConfigError


def cache_bytes_per_token(model: Path, dtype: str) -> int:
    """What keys and values of one token take in all layers."""
    path = model / "config.json"
    try:
        shape = json.loads(path.read_bytes())
        heads = int(shape["num_attention_heads"])
        width = int(shape.get("head_dim") or int(shape["hidden_size"]) // heads)
        layers, groups = int(shape["num_hidden_layers"]), int(shape.get("num_key_value_heads") or heads)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} does not describe a language model of transformers: {error!r}") from error
    return 2 * layers * groups * width * (4 if dtype == "float32" else 2)
